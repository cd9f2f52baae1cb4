package io.millrace.kernels;

import java.lang.foreign.MemorySegment;

/// A mixture-of-experts feed-forward.
///
/// @param gating          how experts are chosen
/// @param gate            gate matrix in F32, `[experts, hiddenSize]`
/// @param correctionBias  float32 `[experts]`, added to the scores for choosing only
/// @param experts         routed experts
/// @param shared          shared experts as one feed-forward, weight 1, not scaled
public record MoeWeights(
        ExpertGating gating,
        PackedMatrix gate,
        MemorySegment correctionBias,
        RoutedExperts experts,
        GatedMlpWeights shared) {

    /// @throws IllegalArgumentException if the number of experts or a size of theirs does not fit, or they were
    ///     packed by another provider than the gate
    public MoeWeights {
        OperatorArguments.experts(gating, gate, experts);
    }
}
