package io.millrace.kvcache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.kvcache.store.LeaseLimits;
import io.millrace.kvcache.store.RequestLimits;
import org.junit.jupiter.api.Test;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.NestedExceptionUtils;

class KvCacheSettingsTest {

    @Configuration(proxyBeanMethods = false)
    @EnableConfigurationProperties(KvCacheSettings.class)
    static class SettingsOnly {}

    @Test
    void defaultsArePinned() {
        try (ConfigurableApplicationContext context = start()) {
            assertThat(context.getBean(KvCacheSettings.class))
                    .isEqualTo(new KvCacheSettings(
                            268_435_456,
                            65_536,
                            256,
                            16,
                            500,
                            new LeaseLimits(30_000, 300_000, 10_000, 1_000, 8),
                            new RequestLimits(32_768, 32_768, 512, 67_000_000, 200)));
            assertThat(context.getEnvironment().getProperty("spring.grpc.server.port"))
                    .isEqualTo("9103");
            assertThat(context.getEnvironment().getProperty("server.port")).isEqualTo("9183");
            assertThat(context.getEnvironment().getProperty("spring.grpc.server.inbound.message.max-size"))
                    .isEqualTo("64MB");
        }
    }

    @Test
    void settingsCanBeOverridden() {
        try (ConfigurableApplicationContext context =
                start("--millrace.kv-cache.capacity-bytes=1000", "--millrace.kv-cache.lease.max-leases=3")) {
            KvCacheSettings settings = context.getBean(KvCacheSettings.class);
            assertThat(settings.capacityBytes()).isEqualTo(1_000);
            assertThat(settings.lease().maxLeases()).isEqualTo(3);
            assertThat(settings.lease().defaultMillis()).isEqualTo(30_000);
        }
    }

    @Test
    void unknownKeyFailsTheStart() {
        assertThatThrownBy(() -> start("--millrace.kv-cache.capacity-byte=1"))
                .satisfies(e ->
                        assertThat(NestedExceptionUtils.getMostSpecificCause(e)).hasMessageContaining("capacity-byte"));
        assertThatThrownBy(() -> start("--millrace.kv-cache.lease.holders=1"))
                .satisfies(e ->
                        assertThat(NestedExceptionUtils.getMostSpecificCause(e)).hasMessageContaining("holders"));
    }

    @Test
    void senselessValuesFailTheStartAndSayWhatWasExpected() {
        fails("--millrace.kv-cache.capacity-bytes=0", "capacityBytes: 0 (expected: 1 or more)");
        fails("--millrace.kv-cache.capacity-bytes=" + Long.MAX_VALUE, "expected: less than the Java heap");
        fails("--millrace.kv-cache.buffered-events=2147483647", "bufferedEvents: 2147483647 (expected: 1..16777216)");
        fails("--millrace.kv-cache.lease.max-millis=5", "maxMillis: 5 (expected: defaultMillis=30000 or more)");
        fails("--millrace.kv-cache.request.max-sections=0", "maxSections: 0 (expected: 1 or more)");
    }

    private static void fails(String argument, String sentence) {
        assertThatThrownBy(() -> start(argument))
                .satisfies(e ->
                        assertThat(NestedExceptionUtils.getMostSpecificCause(e)).hasMessageContaining(sentence));
    }

    private static ConfigurableApplicationContext start(String... args) {
        return new SpringApplicationBuilder(SettingsOnly.class)
                .web(WebApplicationType.NONE)
                .properties("spring.config.location=classpath:/io/millrace/kvcache/")
                .run(args);
    }
}
