package io.millrace.rpc.generate;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.millrace.kernels.KernelCheck;
import java.util.List;
import org.junit.jupiter.api.Test;

class EngineMetersTest {
    @Test
    void theKernelsAreNamedAndASlowOneShowsAsLessThanOne() {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        EngineMeters.kernels(
                "native (avx2)",
                List.of(
                        new KernelCheck("f32-rows", 20, 4, KernelCheck.Verdict.AT_SPEED),
                        new KernelCheck("int8-rows", 0.5, 2, KernelCheck.Verdict.BELOW_FLOOR)),
                registry);
        assertThat(registry.scrape())
                .contains("\nmillrace_kernel_provider{kernels=\"native (avx2)\"} 1.0\n")
                .contains("\nmillrace_kernel_selfcheck{kernel=\"f32-rows\"} 5.0\n")
                .contains("\nmillrace_kernel_selfcheck{kernel=\"int8-rows\"} 0.25\n");
    }
}
