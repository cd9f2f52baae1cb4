package io.millrace.it;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.decode.DecodeApplication;
import io.millrace.gateway.GatewayApplication;
import io.millrace.kvcache.KvCacheApplication;
import io.millrace.prefill.PrefillApplication;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// Each service tells an unfit value before the framework has looked for anything to make.
class SettingsFirstTest {
    private static final Map<String, Consumer<String[]>> SERVICES = Map.of(
            "gateway", GatewayApplication::main,
            "prefill", PrefillApplication::main,
            "decode", DecodeApplication::main,
            "kv-cache", KvCacheApplication::main);

    @ParameterizedTest
    @CsvSource({
        "gateway, --millrace.gateway.limits.max-choices=0",
        "prefill, --millrace.prefill.schedule.max-sequences=0",
        "prefill, --millrace.kernels.threads=abc",
        "decode, --millrace.decode.schedule.max-sequences=0",
        "decode, --millrace.kernels.threads=abc",
        "kv-cache, --millrace.kv-cache.capacity-bytes=-1",
    })
    void anUnfitValueEndsTheStartAtOnce(String service, String argument) {
        String[] arguments = {argument, "--server.port=0", "--management.server.port=0", "--spring.grpc.server.port=0"};
        assertThatThrownBy(() -> SERVICES.getOrDefault(service, _ -> {}).accept(arguments))
                .hasStackTraceContaining("io.millrace.startup.SettingsCheck.initialize");
    }
}
