package io.millrace.startup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.MutablePropertySources;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/// Of a service whose only own keys are those of [StartFailureTest.Settings].
class ProcessKeysTest {
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            millrace.kv-cache.capacity-byte | a key of this service; nearest is -Dmillrace.kv-cache.capacity-bytes)
            millrace.kv-cache.leese.max-leases | a key of this service; nearest is -Dmillrace.kv-cache.lease.max-leases)
            millrace.kv-cache.colour | a key of this service)
            millrace.kernels.tread | a key of this service
            millrace.kvcach.capacity-bytes | a key below millrace., in decode, dsa, gateway
            """)
    void aMisspeltPropertyIsRefused(String name, String expected) {
        Throwable failure = catchThrowable(() -> start(Map.of(name, "1"), Map.of()));

        assertThat(StartFailure.sentence(failure).orElse(""))
                .startsWith("-D" + name + ": unknown (expected: " + expected);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            MILLRACE_KVCACHE_CAPACITYBYTE | MILLRACE_KV_CACHE_CAPACITY_BYTES
            MILLRACE_KV_CACHE_LEASE_MAX_LEASE | MILLRACE_KV_CACHE_LEASE_MAX_LEASES
            MILLRACE_KERNELS_TREADS | MILLRACE_KERNELS_THREADS
            MILLRACE_KV_CASH_CAPACITY_BYTES | MILLRACE_KV_CACHE_CAPACITY_BYTES
            millrace_kvcache_capacitybyte | MILLRACE_KV_CACHE_CAPACITY_BYTES
            """)
    void aMisspeltVariableIsRefused(String name, String near) {
        Throwable failure = catchThrowable(() -> start(Map.of(), Map.of(name, "1")));

        assertThat(StartFailure.sentence(failure))
                .hasValue(name + ": unknown (expected: a key of this service; nearest is " + near + ")");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "MILLRACE_HOME=/opt",
                "MILLRACE_JAVA_OPTS=-Xmx1g",
                "MILLRACE_AOT=off",
                "MILLRACE_NOW=0",
                "MILLRACE_KV_CACHE_PORT=tcp://10.0.0.1:9103",
                "MILLRACE_KV_CACHE_UNIT_PORT=tcp://10.0.0.1:9103",
                "MILLRACE_KV_CACHE_SERVICE_HOST=10.0.0.1",
                "MILLRACE_KV_CACHE_SERVICE_PORT=9103",
                "MILLRACE_KV_CACHE_SERVICE_PORT_GRPC=9103",
                "MILLRACE_KV_CACHE_PORT_9103_TCP=tcp://10.0.0.1:9103",
                "MILLRACE_KV_CACHE_PORT_9103_TCP_PROTO=tcp",
                "MILLRACE_KV_CACHE_PORT_9103_TCP_PORT=9103",
                "MILLRACE_KV_CACHE_PORT_9103_TCP_ADDR=10.0.0.1",
                "MILLRACE_GATEWAY_LIMITS_MAXCHOICE=3",
                "MILLRACE_KV_CACHE_SOMETHING_ELSE=3",
                "MILLRACES=3",
                "PATH=/bin"
            })
    void otherVariablesNeverStopAStart(String variable) {
        int end = variable.indexOf('=');
        assertThatCode(() -> start(Map.of(), Map.of(variable.substring(0, end), variable.substring(end + 1))))
                .doesNotThrowAnyException();
    }

    @Test
    void otherPropertiesAndWhatIsSpeltRightNeverStopAStart() {
        assertThatCode(() -> start(
                        Map.of(
                                "millrace.home", "/x",
                                "millrace.root", "/x",
                                "millrace.kernels.library", "/x",
                                "millrace.test.seed", "1",
                                "millrace.gateway.limit.max-choices", "1",
                                "millrace.kvCache.capacity_bytes", "7",
                                "millrace.kernels.threads", "1"),
                        Map.of("MILLRACE_KVCACHE_LEASE_MAXLEASES", "3", "MILLRACE_KV_CACHE_UNIT", "days")))
                .doesNotThrowAnyException();
    }

    private static void start(Map<String, String> properties, Map<String, String> variables) {
        Map<String, Object> all = new TreeMap<>();
        Properties ofProcess = System.getProperties();
        ofProcess.stringPropertyNames().forEach(name -> all.put(name, ofProcess.getProperty(name)));
        all.putAll(properties);
        StandardEnvironment environment = new StandardEnvironment();
        MutablePropertySources sources = environment.getPropertySources();
        sources.replace("systemProperties", new MapPropertySource("systemProperties", all));
        sources.replace(
                "systemEnvironment",
                new SystemEnvironmentPropertySource("systemEnvironment", Map.<String, Object>copyOf(variables)));
        new SpringApplicationBuilder(StartFailureTest.Application.class)
                .environment(environment)
                .web(WebApplicationType.NONE)
                .bannerMode(Banner.Mode.OFF)
                .run()
                .close();
    }
}
