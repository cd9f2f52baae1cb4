package io.millrace.engine.sampling;

import java.util.List;

/// A drawn token.
///
/// @param id       token
/// @param logprob  log-softmax of the raw logits, before temperature and filters; NaN unless log-probs are asked
///                 for
/// @param top      the likeliest tokens, best first, ties by lower id; empty unless asked for
public record Sampled(int id, float logprob, List<TopLogprob> top) {
    public Sampled {
        top = List.copyOf(top);
    }
}
