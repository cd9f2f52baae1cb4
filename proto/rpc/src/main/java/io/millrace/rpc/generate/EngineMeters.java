package io.millrace.rpc.generate;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.schedule.EngineLoop;
import io.millrace.engine.schedule.EngineStats;
import io.millrace.kernels.KernelCheck;
import io.millrace.rpc.MetricNames;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/// Shows the counters and levels of an engine loop as metrics.
public final class EngineMeters {
    private EngineMeters() {}

    public static void bind(EngineLoop loop, MeterRegistry meters) {
        gauge(MetricNames.REQUESTS_RUNNING, EngineStats::runningSequences, loop, meters);
        gauge(MetricNames.REQUESTS_WAITING, EngineStats::waitingRequests, loop, meters);
        gauge(MetricNames.KV_CACHE_USAGE, EngineMeters::poolUsage, loop, meters);
        counter(MetricNames.PREEMPTIONS, EngineStats::preemptions, loop, meters);
        counter(MetricNames.ENGINE_STEPS, EngineStats::steps, loop, meters);
        counter(MetricNames.ENGINE_ROWS, EngineStats::rows, loop, meters);
        counter(MetricNames.TOKENS_RECOMPUTED, EngineStats::tokensRecomputed, loop, meters);
        // Those that load brings are shown from the start; other reasons appear with their first refusal.
        meters.counter(
                MetricNames.ADMISSION_REJECTIONS,
                "reason",
                ErrorCode.QUEUE_FULL.name().toLowerCase(Locale.ROOT));
    }

    /// Names the kernels and shows how far above its floor each was when the model was loaded: below 1 is
    /// slow.
    ///
    /// @param description  provider and instruction set
    public static void kernels(String description, List<KernelCheck> checks, MeterRegistry meters) {
        Gauge.builder(MetricNames.KERNEL_PROVIDER, () -> 1)
                .tag("kernels", description)
                .register(meters);
        for (KernelCheck check : checks) {
            Gauge.builder(MetricNames.KERNEL_SELF_CHECK, check, KernelCheck::margin)
                    .tag("kernel", check.kernel())
                    .strongReference(true)
                    .register(meters);
        }
    }

    /// Shows one number of the loop as a counter.
    public static void counter(
            String name, ToDoubleFunction<EngineStats> number, EngineLoop loop, MeterRegistry meters) {
        FunctionCounter.builder(name, loop, l -> number.applyAsDouble(l.stats()))
                .register(meters);
    }

    private static void gauge(
            String name, ToDoubleFunction<EngineStats> number, EngineLoop loop, MeterRegistry meters) {
        Gauge.builder(name, loop, l -> number.applyAsDouble(l.stats())).register(meters);
    }

    private static double poolUsage(EngineStats stats) {
        return 1.0 - (double) stats.freePages() / stats.pages();
    }
}
