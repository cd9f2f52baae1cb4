package io.millrace.engine.model;

import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.MoeWeights;

/// The feed-forward half of a layer.
sealed interface FeedForward {
    /// One SwiGLU for every token.
    record Dense(GatedMlpWeights weights) implements FeedForward {}

    /// Routed and shared experts.
    record Experts(MoeWeights weights) implements FeedForward {}
}
