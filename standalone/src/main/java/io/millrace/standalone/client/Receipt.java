package io.millrace.standalone.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import tools.jackson.databind.JsonNode;

/// What an answer cost and who took part, as the suite tells at its end.
///
/// @param cachedTokens      prompt tokens taken from the cache
/// @param firstTokenMillis  until the first token (TTFT)
/// @param services          those that took part, in the order the request went
public record Receipt(
        int promptTokens,
        int completionTokens,
        int cachedTokens,
        double firstTokenMillis,
        double totalMillis,
        List<String> services) {
    private static final double MILLIS_PER_SECOND = 1000;

    public Receipt {
        services = List.copyOf(services);
    }

    static Receipt of(JsonNode usage, JsonNode timings) {
        JsonNode took = timings.path("services");
        List<String> services = new ArrayList<>(List.of("gateway"));
        if (!took.path("prefill").isEmpty()) {
            services.add("prefill");
        }
        if (took.path("kv_cache").asBoolean(false)) {
            services.add("kv-cache");
        }
        if (!took.path("decode").isEmpty()) {
            services.add("decode");
        }
        return new Receipt(
                usage.path("prompt_tokens").asInt(0),
                usage.path("completion_tokens").asInt(0),
                usage.path("prompt_tokens_details").path("cached_tokens").asInt(0),
                timings.path("ttft_ms").asDouble(0),
                timings.path("total_ms").asDouble(0),
                services);
    }

    /// Speed after the first token; 0 where there was no other.
    public double tokensPerSecond() {
        double millis = totalMillis - firstTokenMillis;
        return completionTokens < 2 || millis <= 0 ? 0 : (completionTokens - 1) * MILLIS_PER_SECOND / millis;
    }

    /// One line.
    public String line() {
        return String.format(
                Locale.ROOT,
                "%d prompt tokens (%d cached), %d new tokens, first after %.0f ms, then %.0f tokens/s; %s",
                promptTokens,
                cachedTokens,
                completionTokens,
                firstTokenMillis,
                tokensPerSecond(),
                String.join(" > ", services));
    }
}
