package io.millrace.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.millrace.gateway.fake.Suite;
import io.millrace.startup.StartFailure;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.convert.ApplicationConversionService;
import org.springframework.util.unit.DataSize;

class ConfigurationTest {
    private static final String MODEL = "--millrace.model.path=" + Suite.miniModel();

    @Test
    void pinsItsDefaults() {
        GatewayProperties defaults = new Binder(new MapConfigurationPropertySource(Map.of()))
                .bindOrCreate("millrace.gateway", GatewayProperties.class);

        assertThat(defaults)
                .isEqualTo(new GatewayProperties(
                        List.of("static://localhost:9101"),
                        List.of("static://localhost:9102"),
                        List.of("static://localhost:9103"),
                        0,
                        Duration.ofSeconds(1),
                        Duration.ofSeconds(1),
                        new GatewayProperties.Limits(
                                32,
                                256,
                                2,
                                256,
                                Duration.ofSeconds(30),
                                16,
                                DataSize.ofMegabytes(8),
                                Duration.ofSeconds(30),
                                Duration.ofSeconds(60),
                                Duration.ofMinutes(10),
                                Duration.ofSeconds(15)),
                        new GatewayProperties.Retries(2, 3, Duration.ofSeconds(5))));
    }

    @Test
    void refusesAnUnknownKey() {
        assertThatThrownBy(() -> start(MODEL, "--millrace.gateway.small-promt-tokens=5"))
                .rootCause()
                .hasMessageContaining("small-promt-tokens");
    }

    @Test
    void refusesAValueOutOfRange() {
        assertThatThrownBy(() -> start(MODEL, "--millrace.gateway.limits.max-choices=0"))
                .rootCause()
                .hasMessageContaining("max");
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "7, 7", "16, 16", "100, 16"})
    void choicesThatNobodyLimitedFollowThoseThatRun(String running, int largest) {
        GatewayProperties properties = new Binder(new MapConfigurationPropertySource(
                        Map.of("millrace.gateway.limits.max-running-choices", running)))
                .bindOrCreate("millrace.gateway", GatewayProperties.class);

        assertThat(properties.limits().maxChoices()).isEqualTo(largest);
    }

    @Test
    void refusesAQueueOfTextsThatNoMemoryHolds() {
        assertThatThrownBy(() -> start(MODEL, "--millrace.gateway.limits.max-waiting-texts=2147483647"))
                .rootCause()
                .hasMessageContaining("less than or equal to 65536");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            describe-interval=0s | describe-interval: 0s (expected: 10ms..1h)
            describe-interval=-1s | describe-interval: -1s (expected: 10ms..1h)
            describe-timeout=90m | describe-timeout: 90m (expected: 10ms..1h)
            limits.max-wait=-1500ms | limits.max-wait: -1500ms (expected: 0s..1d)
            limits.max-body-size=-1B | limits.max-body-size: -1B (expected: 1B..1GB)
            limits.max-body-size=0B | limits.max-body-size: 0B (expected: 1B..1GB)
            limits.max-body-size=2GB | limits.max-body-size: 2GB (expected: 1B..1GB)
            limits.max-body-size=2147483647B | limits.max-body-size: 2147483647B (expected: 1B..1GB)
            limits.max-body-size=9999999999GB | \
            limits.max-body-size: "9999999999GB" (expected: a size, e.g. 512KB or 8MB)
            limits.head-timeout=0s | limits.head-timeout: 0s (expected: 10ms..1d)
            limits.head-timeout=25h | limits.head-timeout: 25h (expected: 10ms..1d)
            limits.body-timeout=0s | limits.body-timeout: 0s (expected: 10ms..1d)
            limits.body-timeout=25h | limits.body-timeout: 25h (expected: 10ms..1d)
            limits.request-timeout=400000d | limits.request-timeout: 400000d (expected: 10ms..30d)
            limits.request-timeout=0s | limits.request-timeout: 0s (expected: 10ms..30d)
            limits.request-timeout=999999999999999d | \
            limits.request-timeout: "999999999999999d" (expected: a duration, \
            e.g. 500ms, 30s or 10m)
            limits.max-choices=33 | limits.max-choices: 33 (expected: at most max-running-choices=32)
            limits.keep-alive-interval=0ms | limits.keep-alive-interval: 0s (expected: 10ms..1d)
            retries.resume-wait=25h | retries.resume-wait: 25h (expected: 0s..1d)
            decode-targets=foo://x:y:z | decode-targets: foo://x:y:z (expected: host:port, static://host:port or \
            dns:///host:port)
            prefill-targets=static://a | prefill-targets: static://a (expected: host:port, static://host:port or \
            dns:///host:port)
            kv-cache-targets=dns:///a | kv-cache-targets: dns:///a (expected: host:port, static://host:port or \
            dns:///host:port)
            """)
    void namesKeyValueAndRange(String setting, String sentence) {
        int end = setting.indexOf('=');
        Binder binder = new Binder(
                List.of(new MapConfigurationPropertySource(
                        Map.of("millrace.gateway." + setting.substring(0, end), setting.substring(end + 1)))),
                null,
                ApplicationConversionService.getSharedInstance());

        Throwable refused = catchThrowable(() -> binder.bindOrCreate("millrace.gateway", GatewayProperties.class));

        assertThat(StartFailure.sentence(refused)).hasValue("millrace.gateway." + sentence);
    }

    @Test
    void saysThatItNeedsAModel() {
        assertThatThrownBy(() -> start("--spring.main.banner-mode=off"))
                .rootCause()
                .hasMessageContaining("millrace.model.path");
    }

    private static void start(String... arguments) {
        List<String> all = new ArrayList<>(List.of("--server.port=0", "--management.server.port=0"));
        all.addAll(List.of(arguments));
        SpringApplication.exit(
                GatewayApplication.builder().logStartupInfo(false).run(all.toArray(String[]::new)));
    }
}
