package io.millrace.startup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.Banner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;

class StartFailureTest {

    /// Settings as services have them.
    @ConfigurationProperties(prefix = "millrace.kv-cache", ignoreUnknownFields = false)
    record Settings(long capacityBytes, TimeUnit unit, Inner lease) {
        Settings {
            if (capacityBytes < 0) {
                throw new IllegalArgumentException("capacityBytes: " + capacityBytes + " (expected: 0 or more)");
            }
        }
    }

    record Inner(int maxLeases) {
        Inner {
            if (maxLeases < 0) {
                throw new IllegalArgumentException("maxLeases: " + maxLeases + " (expected: 0 or more)");
            }
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableConfigurationProperties(Settings.class)
    static class Application {}

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            millrace.kv-cache.capacity-bytes=-1 | millrace.kv-cache.capacity-bytes: -1 (expected: 0 or more)
            millrace.kv-cache.capacity-bytes=many | millrace.kv-cache.capacity-bytes: "many" (expected: 0 or more)
            millrace.kv-cache.lease.max-leases=99999999999 | millrace.kv-cache.lease.max-leases: "99999999999" \
            (expected: 0 or more)
            millrace.kv-cache.capacity-bytes=99999999999999999999 | millrace.kv-cache.capacity-bytes: \
            "99999999999999999999" (expected: 0 or more)
            millrace.kv-cache.lease.max-leases=-1 | millrace.kv-cache.lease.max-leases: -1 (expected: 0 or more)
            millrace.kv-cache.capacity=1 | millrace.kv-cache.capacity: unknown (expected: a key of this service)
            millrace.kv-cache.lease.max=1 | millrace.kv-cache.lease.max: unknown (expected: a key of this service)
            millrace.kv-cache.capacity-byte=1 | millrace.kv-cache.capacity-byte: unknown (expected: a key of this \
            service; nearest is millrace.kv-cache.capacity-bytes)
            millrace.kv-cache.lease.maxLease=1 | millrace.kv-cache.lease.maxlease: unknown (expected: a key of this \
            service; nearest is millrace.kv-cache.lease.max-leases)
            millrace.kv-cache.max-leases=1 | millrace.kv-cache.max-leases: unknown (expected: a key of this \
            service; nearest is millrace.kv-cache.lease.max-leases)
            """)
    void aSettingThatIsWrongIsNamedWithItsKey(String argument, String sentence) {
        assertThat(StartFailure.sentence(failureOf("--" + argument))).contains(sentence);
    }

    /// The range is that of the settings themselves, as they tell it of a number they refuse.
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            millrace.kv.pool-tokens | 99999999999999 | 64..1073741824
            millrace.kv.pool-tokens | many | 64..1073741824
            millrace.kernels.threads | 99999999999999 | 0 for one per processor, to 1024
            millrace.kernels.threads | 1.5 | 0 for one per processor, to 1024
            millrace.dsa.top-k | -99999999999 | 0 for dense attention, or the number of slots a row selects
            millrace.weights.version | 99999999999999999999 | 0 or more
            millrace.weights.profile | '' | one of bf16, checkpoint, w4a8, w8a8
            millrace.kernels.threads | '' | 0 for one per processor, to 1024
            millrace.weights.profile | w2 | one of bf16, checkpoint, w4a8, w8a8
            """)
    void aKeyOfTheEngineIsToldWithWhatItTakes(String key, String value, String expected) {
        StandardEnvironment environment = new StandardEnvironment();
        environment.getPropertySources().addFirst(new MapPropertySource("given", Map.of(key, value)));
        Throwable failure = catchThrowable(() -> EngineKeys.bind(environment));
        assertThat(StartFailure.sentence(failure)).contains(key + ": \"" + value + "\" (expected: " + expected + ")");
    }

    @Test
    void aConstantThatDoesNotExistIsToldWithThoseThatDo() {
        assertThat(StartFailure.sentence(failureOf("--millrace.kv-cache.unit=weeks"))
                        .orElse(""))
                .startsWith("millrace.kv-cache.unit: \"weeks\" (expected: one of days, hours, ");
    }

    @Test
    void aSectionThatDoesNotExistIsNamed() {
        for (String key : new String[] {"millrace.prefil.instance", "millrace.port"}) {
            assertThat(StartFailure.sentence(failureOf("--" + key + "=1")).orElse(""))
                    .startsWith(key + ": unknown (expected: a key below millrace., in decode, ");
        }
        assertThat(StartFailure.sentence(failureOf("--millrace.prefil.instance=1")))
                .hasValueSatisfying(said -> assertThat(said).endsWith(", weights; nearest is prefill)"));
        failsNot("--millrace.gateway.small-prompt-tokens=1", "--millrace.kvCache.capacityBytes=1");
    }

    @Test
    void propertiesOfTheProcessAreNotSettings() {
        GenericApplicationContext context = new GenericApplicationContext();
        context.getEnvironment()
                .getPropertySources()
                .replace("systemProperties", new MapPropertySource("systemProperties", Map.of("millrace.home", "/")));
        new KnownKeys().initialize(context);
        context.getEnvironment()
                .getPropertySources()
                .addFirst(new MapPropertySource("file", Map.of("millrace.home", "/")));
        assertThatThrownBy(() -> new KnownKeys().initialize(context)).hasMessageContaining("millrace.home: unknown");
    }

    @Test
    void aModelThatCannotBeUsedIsToldWithTheKeyThatNamesIt() {
        var cause = new MillraceException(ErrorCode.INVALID_CHECKPOINT, "/nowhere: no such folder");
        assertThat(StartFailure.sentence(new IllegalStateException("bean", cause)))
                .contains("millrace.model.path: /nowhere: no such folder");
        var missing = new IllegalArgumentException("millrace.model.path: missing (expected: a model folder)");
        assertThat(StartFailure.sentence(new IllegalStateException("bean", missing)))
                .contains("millrace.model.path: missing (expected: a model folder)");
    }

    @Test
    void whatIsNoFaultOfTheSettingsIsLeftToOthers() {
        assertThat(StartFailure.sentence(new IllegalStateException("bug", new IllegalArgumentException("index: 3"))))
                .isEmpty();
        assertThat(new StartFailureReporter(null).reportException(new IllegalStateException("bug")))
                .isFalse();
    }

    private static Throwable failureOf(String argument) {
        return catchThrowable(() -> failsNot(argument));
    }

    private static void failsNot(String... arguments) {
        new SpringApplicationBuilder(Application.class)
                .web(WebApplicationType.NONE)
                .bannerMode(Banner.Mode.OFF)
                .run(arguments)
                .close();
    }
}
