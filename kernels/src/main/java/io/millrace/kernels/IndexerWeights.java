package io.millrace.kernels;

import java.lang.foreign.MemorySegment;

/// Weights of a lightning indexer. Norm parameters are float32 segments.
///
/// @param heads        index heads
/// @param headDim      width of an index head, laid out `[rope | nope]`
/// @param topK         slots a row selects
/// @param ropeStyle    pairing of the first `ropeDim` elements
/// @param queryB       `[heads * headDim, qLoraRank]`, applied to the normed query latent
/// @param key          `[headDim, hiddenSize]`, applied to the normed hidden state
/// @param keyNormGain  LayerNorm gain `[headDim]`, epsilon 1e-6
/// @param keyNormBias  LayerNorm bias `[headDim]`
/// @param headWeights  `[heads, hiddenSize]`; its output times `heads^-0.5 * headDim^-0.5` weighs the heads
public record IndexerWeights(
        int heads,
        int headDim,
        int topK,
        RopeStyle ropeStyle,
        PackedMatrix queryB,
        PackedMatrix key,
        MemorySegment keyNormGain,
        MemorySegment keyNormBias,
        PackedMatrix headWeights) {
    /// Epsilon of the key LayerNorm.
    public static final float KEY_NORM_EPS = 1e-6f;
}
