package io.millrace.engine.model;

import io.millrace.kernels.PackedMatrix;
import java.lang.foreign.MemorySegment;

/// Packed weights of the multi-token-prediction layer. Norm gains are float32 `[hiddenSize]`.
///
/// @param embeddingNorm  `enorm`
/// @param hiddenNorm     `hnorm`
/// @param projection     `eh_proj` `[hiddenSize, 2 * hiddenSize]`, over the normed embedding, then the
///                       normed state, rotated as for the head
/// @param layer          a complete decoder layer
/// @param headNorm       `shared_head.norm`
record MtpWeights(
        MemorySegment embeddingNorm,
        MemorySegment hiddenNorm,
        PackedMatrix projection,
        LayerWeights layer,
        StateNorm headNorm) {}
