package io.millrace.engine.sampling;

import java.util.OptionalInt;

/// How tokens are drawn.
///
/// @param temperature  divisor of the logits, at least 0; 0 takes the largest logit, lowest id first
/// @param topK         how many of the likeliest tokens are kept, 0 for all
/// @param topP         smallest kept probability mass, in (0, 1]; 1 keeps all
/// @param minP         smallest kept probability relative to the likeliest token's, in [0, 1]; 0 keeps all
/// @param topLogprobs  asks for log-probs: the token's own and those of so many of the likeliest tokens, 0..20;
///                     empty for none at all
public record SamplingParams(float temperature, int topK, float topP, float minP, OptionalInt topLogprobs) {
    /// Most tokens reported per position.
    public static final int MAX_TOP_LOGPROBS = 20;

    /// The largest logit, always.
    public static final SamplingParams GREEDY = new SamplingParams(0, 0, 1, 0, OptionalInt.empty());

    public SamplingParams {
        if (!(temperature >= 0) || temperature == Float.POSITIVE_INFINITY) {
            throw new IllegalArgumentException("temperature: " + temperature + " (expected: a number from 0)");
        }
        if (topK < 0) {
            throw new IllegalArgumentException("topK: " + topK + " (expected: 1 or more, or 0 for all)");
        }
        if (!(topP > 0 && topP <= 1)) {
            throw new IllegalArgumentException("topP: " + topP + " (expected: above 0, at most 1)");
        }
        if (!(minP >= 0 && minP <= 1)) {
            throw new IllegalArgumentException("minP: " + minP + " (expected: 0..1)");
        }
        if (topLogprobs.isPresent() && (topLogprobs.getAsInt() < 0 || topLogprobs.getAsInt() > MAX_TOP_LOGPROBS)) {
            throw new IllegalArgumentException(
                    "topLogprobs: " + topLogprobs.getAsInt() + " (expected: 0.." + MAX_TOP_LOGPROBS + ")");
        }
    }

    /// Whether every draw takes the largest logit.
    public boolean greedy() {
        return temperature == 0;
    }
}
