package io.millrace.gateway.request;

import io.millrace.gateway.json.JsonFields;
import java.util.OptionalInt;
import java.util.OptionalLong;

/// Everything a request says about how to generate, checked.
///
/// @param seed       absent: the gateway draws one
/// @param maxTokens  absent: the rest of the context
/// @param choices    answers to each prompt
/// @param enableMtp  multi-token speculation wanted
public record GenerationOptions(
        SamplingOptions sampling,
        OptionalLong seed,
        StopRules stop,
        OptionalInt maxTokens,
        int choices,
        boolean enableMtp,
        StreamOptions stream) {

    /// How the answer is delivered.
    ///
    /// @param usageIncluded  a last chunk tells the usage
    public record StreamOptions(boolean enabled, boolean usageIncluded) {
        static StreamOptions read(JsonFields fields) {
            boolean enabled = fields.bool("stream", false);
            JsonFields options = fields.object("stream_options").orElse(null);
            if (options == null) {
                return new StreamOptions(enabled, false);
            }
            if (!enabled) {
                throw fields.invalid("stream_options", "stream_options: given (expected: only with stream true)");
            }
            if (options.bool("continuous_usage_stats", false)) {
                throw options.notSupported(
                        "continuous_usage_stats", "stream_options.continuous_usage_stats is not supported.");
            }
            return new StreamOptions(true, options.bool("include_usage", false));
        }
    }

    /// What bounds the options of one model and gateway.
    public record Limits(SamplingOptions.Defaults defaults, int vocabularySize, int maxChoices) {}

    static GenerationOptions read(JsonFields fields, Limits limits, OptionalInt topLogprobs) {
        return new GenerationOptions(
                SamplingOptions.read(fields, limits.defaults(), topLogprobs),
                fields.integer("seed", Long.MIN_VALUE, Long.MAX_VALUE),
                StopRules.read(fields, limits.vocabularySize()),
                maxTokens(fields),
                (int) fields.integer("n", 1, limits.maxChoices()).orElse(1),
                fields.bool("enable_mtp", false),
                StreamOptions.read(fields));
    }

    /// `max_completion_tokens` is the newer name; where both are given they must agree. A value beyond
    /// any context is
    /// no error: it is clamped later.
    static OptionalInt maxTokens(JsonFields fields) {
        OptionalLong older = fields.integer("max_tokens", 1, Long.MAX_VALUE);
        OptionalLong newer = fields.integer("max_completion_tokens", 1, Long.MAX_VALUE);
        if (older.isPresent() && newer.isPresent() && older.getAsLong() != newer.getAsLong()) {
            throw fields.invalid(
                    "max_completion_tokens",
                    "max_completion_tokens: " + newer.getAsLong() + " (expected: max_tokens=" + older.getAsLong()
                            + ", or only one of both)");
        }
        OptionalLong value = newer.isPresent() ? newer : older;
        return value.isPresent()
                ? OptionalInt.of((int) Math.min(value.getAsLong(), Integer.MAX_VALUE))
                : OptionalInt.empty();
    }
}
