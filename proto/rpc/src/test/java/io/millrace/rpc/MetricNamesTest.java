package io.millrace.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Timer;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class MetricNamesTest {
    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

    @Test
    void prometheusShowsNamesWithColonsAsTheyAre() {
        registry.gauge(MetricNames.REQUESTS_RUNNING, 3);
        registry.counter(MetricNames.PREFIX_CACHE_HITS).increment(64);
        registry.counter(MetricNames.REQUEST_SUCCESS, "finished_reason", "stop").increment();
        Timer.builder(MetricNames.TIME_TO_FIRST_TOKEN)
                .serviceLevelObjectives(Duration.ofMillis(40))
                .register(registry)
                .record(Duration.ofMillis(30));
        DistributionSummary.builder(MetricNames.REQUEST_PROMPT_TOKENS)
                .serviceLevelObjectives(8)
                .register(registry)
                .record(5);

        String page = registry.scrape();

        assertThat(page)
                .contains("\nvllm:num_requests_running 3.0\n")
                .contains("\nvllm:prefix_cache_hits_total 64.0\n")
                .contains("\nvllm:request_success_total{finished_reason=\"stop\"} 1.0\n")
                .contains("\nvllm:time_to_first_token_seconds_bucket{le=\"0.04\"} 1\n")
                .contains("\nvllm:time_to_first_token_seconds_count 1\n")
                .contains("\nvllm:request_prompt_tokens_bucket{le=\"8.0\"} 1\n");
    }

    @Test
    void everyGaugeNameComesOutUnchanged() throws IllegalAccessException {
        for (String name : names()) {
            registry.gauge(name, 1);
        }
        String page = registry.scrape();
        for (String name : names()) {
            assertThat(page).contains("\n" + name + " 1.0\n");
        }
    }

    @Test
    void namesAreUniqueAndOfOneOfTheTwoFamilies() throws IllegalAccessException {
        assertThat(names()).doesNotHaveDuplicates().allMatch(name -> name.matches("(vllm:|millrace_)[a-z0-9_]+"));
    }

    private static List<String> names() throws IllegalAccessException {
        List<String> names = new ArrayList<>();
        for (Field field : MetricNames.class.getDeclaredFields()) {
            if (Modifier.isPublic(field.getModifiers()) && field.get(null) instanceof String name) {
                names.add(name);
            }
        }
        assertThat(names).hasSizeGreaterThan(30);
        return names;
    }
}
