package io.millrace.startup;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.env.MapPropertySource;

class SettingsCheckTest {
    @Configuration(proxyBeanMethods = false)
    @EnableConfigurationProperties(StartFailureTest.Settings.class)
    static class Own {}

    private final GenericApplicationContext service = new GenericApplicationContext();

    private void check(String key, String value) {
        service.getEnvironment().getPropertySources().addFirst(new MapPropertySource("given", Map.of(key, value)));
        SettingsCheck.of(Own.class).andEngine().initialize(service);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            millrace.kv-cache.capacity-bytes | -1 | millrace.kv-cache.capacity-bytes: -1 (expected: 0 or more)
            millrace.kv-cache.capacity-byte | 1 | millrace.kv-cache.capacity-byte: unknown
            millrace.kernels.threads | abc | millrace.kernels.threads: "abc" (expected: \
            0 for one per processor, to 1024)
            """)
    void anUnfitValueIsToldBeforeTheServiceIsMade(String key, String value, String sentence) {
        Throwable failure = catchThrowable(() -> check(key, value));
        assertThat(StartFailure.sentence(failure).orElse("")).startsWith(sentence);
        assertThat(service.isActive()).isFalse();
    }

    @Test
    void fitOnesPassAndLeaveNothingBehind() {
        assertThatCode(() -> check("millrace.kv-cache.capacity-bytes", "1")).doesNotThrowAnyException();
        assertThat(service.getBeanFactory().getBeanDefinitionNames()).isEmpty();
    }
}
