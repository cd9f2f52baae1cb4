package io.millrace.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.it.client.Program;
import io.millrace.it.process.ServiceProcess;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// A service that is told something wrong ends with one line that names the key. Cases run two at a time: each is a
/// process of its own, and its start takes the time.
class FailedStartIT {
    private static final int PATIENCE_SECONDS = 60;

    @Execution(ExecutionMode.CONCURRENT)
    @ParameterizedTest
    @CsvSource(delimiter = '|', nullValues = "-", textBlock = """
            prefill-service | - | millrace.model.path: missing (expected: a model folder)
            decode-service | - | millrace.model.path: missing (expected: a model folder)
            gateway | - | millrace.model.path: missing (expected: a model folder)
            prefill-service | millrace.model.path=/nowhere | millrace.model.path: /nowhere: no such folder
            gateway | millrace.model.path=/nowhere | millrace.model.path: /nowhere: no such folder
            decode-service | millrace.decode.instanze=a | a key of this service; nearest is millrace.decode.instance)
            decode-service | millrace.dsa.top=1 | millrace.dsa.top: unknown
            decode-service | millrace.kernels.provider=none | millrace.kernels.provider: none (expected: auto, scalar
            prefill-service | millrace.kernels.provider=ascend | millrace.kernels.provider: ascend is not available: not
            gateway | millrace.gatway.limits.max-choices=1 | millrace.gatway.limits.max-choices: unknown
            gateway | millrace.gateway.limits.max-choices=0 | millrace.gateway.limits.max-choices: 0 must be greater
            kv-cache-service | millrace.kv-cache.capacity-bytes=0 | millrace.kv-cache.capacity-bytes: 0 (expected
            gateway | millrace.gateway.limits.max-body-size=2GB | \
            millrace.gateway.limits.max-body-size: 2GB (expected: 1B
            gateway | millrace.gateway.decode-targets=foo://x:y:z | \
            millrace.gateway.decode-targets: foo://x:y:z (expected
            prefill-service | millrace.prefill.kv-cache-targets=foo://x:y:z | \
            millrace.prefill.kv-cache-targets: foo://x:y:
            decode-service | millrace.decode.kv-cache-targets=foo://x:y:z | \
            millrace.decode.kv-cache-targets: foo://x:y:z
            kv-cache-service | millrace.kv-cache.buffered-events=2147483647 | buffered-events: 2147483647 (expected: 1..
            kv-cache-service | millrace.kv-cache.max-streams=many | millrace.kv-cache.max-streams: "many" (exp
            """)
    void aWrongSettingIsOneLineWithItsKey(String service, @Nullable String argument, String sentence) {
        List<String> arguments = new ArrayList<>();
        if (argument != null) {
            arguments.add("--" + argument);
            if (!argument.startsWith("millrace.model.path=")) {
                arguments.add("--millrace.model.path=" + ServiceProcess.root().resolve("models/mini"));
            }
        }
        assertFails(service, Map.of(), arguments, sentence);
    }

    @Execution(ExecutionMode.CONCURRENT)
    @ParameterizedTest
    @CsvSource({
        "gateway, server.port",
        "gateway, management.server.port",
        "kv-cache-service, server.port",
        "decode-service, spring.grpc.server.port"
    })
    void aPortInUseIsOneLineWithItsKey(String service, String key) throws IOException {
        try (ServerSocket taken = new ServerSocket(0)) {
            assertFails(
                    service,
                    Map.of(key, taken.getLocalPort()),
                    List.of("--millrace.model.path=" + ServiceProcess.root().resolve("models/mini")),
                    key + ": " + taken.getLocalPort() + " is in use (expected: a free port)");
        }
    }

    @Execution(ExecutionMode.CONCURRENT)
    @ParameterizedTest
    @CsvSource({
        "kv-cache-service, --server.adress=127.0.0.1, --server.address",
        "prefill-service, --spring.grpc.server.adress=127.0.0.1, --spring.grpc.server.address",
        "decode-service, --milrace.decode.instance=a, --millrace.decode.instance",
        "gateway, --managment.server.port=1, --management.server.port"
    })
    void anOptionThatNobodyReadsIsOneLineWithTheNearest(String service, String option, String near) {
        String name = option.substring(0, option.indexOf('='));
        assertFails(
                service,
                Map.of(),
                List.of("--millrace.model.path=" + ServiceProcess.root().resolve("models/mini"), option),
                name + ": unknown (expected: a key of this service; nearest is " + near + ")");
    }

    @Execution(ExecutionMode.CONCURRENT)
    @Test
    void aMisspeltVariableIsOneLineWithItsName() {
        assertFails(
                "kv-cache-service",
                Map.of(),
                Map.of(
                        "MILLRACE_KVCACHE_CAPACITYBYTE", "3",
                        "MILLRACE_KV_CACHE_SERVICE_HOST", "10.0.0.1",
                        "MILLRACE_KV_CACHE_PORT", "tcp://10.0.0.1:9103"),
                List.of(),
                "MILLRACE_KVCACHE_CAPACITYBYTE: unknown (expected: a key of this service; nearest is "
                        + "MILLRACE_KV_CACHE_CAPACITY_BYTES)");
    }

    private static void assertFails(
            String service, Map<String, Integer> ports, List<String> arguments, String sentence) {
        assertFails(service, ports, Map.of(), arguments, sentence);
    }

    private static void assertFails(
            String service,
            Map<String, Integer> ports,
            Map<String, String> environment,
            List<String> arguments,
            String sentence) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add(ServiceProcess.sharedFlags());
        command.addAll(List.of(
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-jar",
                ServiceProcess.jarOf(service).toString()));
        for (String key : List.of("server.port", "management.server.port", "spring.grpc.server.port")) {
            if (!service.equals("gateway") || !key.equals("spring.grpc.server.port")) {
                command.add("--" + key + "=" + ports.getOrDefault(key, 0));
            }
        }
        command.addAll(arguments);
        Program.Outcome outcome = Program.run(command, environment, PATIENCE_SECONDS);

        assertThat(outcome.exitCode()).as(outcome.output()).isEqualTo(1);
        assertThat(outcome.output()).contains(sentence).doesNotContain("Exception", "\tat ", "APPLICATION FAILED");
        assertThat(outcome.output().lines().filter(line -> line.contains("ERROR")))
                .hasSize(1);
    }
}
