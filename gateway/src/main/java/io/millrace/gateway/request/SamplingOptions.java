package io.millrace.gateway.request;

import io.millrace.gateway.json.JsonFields;
import java.util.OptionalInt;

/// How tokens are drawn, with the model's defaults filled in.
///
/// @param temperature  0 is greedy
/// @param topK         0 is no limit
/// @param topLogprobs  most likely tokens to report beside each one; empty: no log-probabilities
public record SamplingOptions(float temperature, int topK, float topP, float minP, OptionalInt topLogprobs) {
    static final double MAX_TEMPERATURE = 2;
    static final int MAX_TOP_LOGPROBS = 20;

    /// What a checkpoint recommends for requests that do not say: the values of its
    /// `generation_config.json`.
    public record Defaults(float temperature, int topK, float topP, float minP) {
        /// Where a checkpoint recommends nothing.
        public static final Defaults NEUTRAL = new Defaults(1, 0, 1, 0);
    }

    static SamplingOptions read(JsonFields fields, Defaults defaults, OptionalInt topLogprobs) {
        double temperature = fields.number("temperature", 0, MAX_TEMPERATURE).orElse(defaults.temperature);
        // −1 is what vLLM's clients send for "no limit".
        long topK = fields.integer("top_k", -1, Integer.MAX_VALUE).orElse(defaults.topK);
        double topP =
                fields.number("top_p", -Double.MAX_VALUE, Double.MAX_VALUE).orElse(defaults.topP);
        // As the float that it becomes: 1e-300 is 0 there. The others may be 0.
        if (!((float) topP > 0 && topP <= 1)) {
            String least = topP > 0 && topP <= 1 ? "at least " + Float.MIN_VALUE : "more than 0";
            throw fields.invalid(
                    "top_p",
                    fields.pathOf("top_p") + ": " + JsonFields.shown(fields.value("top_p")) + " (expected: " + least
                            + ", at most 1)");
        }
        double minP = fields.number("min_p", 0, 1).orElse(defaults.minP);
        return new SamplingOptions(
                (float) temperature, (int) Math.max(0, topK), (float) topP, (float) minP, topLogprobs);
    }
}
