package io.millrace.kernels;

import java.lang.foreign.MemorySegment;
import java.util.List;

/// Weights of one attention layer. Norm gains are float32 segments; the per-head lists have `shape.heads()` entries,
/// `keyUp` or `keyAbsorb` none where the form does not need it.
///
/// @param shape       sizes and constants
/// @param inputNorm   gain of the input norm, `[hiddenSize]`
/// @param qA          `[qLoraRank, hiddenSize]`
/// @param qANorm      `[qLoraRank]`
/// @param qB          `[heads * (nopeDim + ropeDim), qLoraRank]`, each head `[nope | rope]`
/// @param kvA         `[kvLoraRank + ropeDim, hiddenSize]`
/// @param kvANorm     `[kvLoraRank]`
/// @param keyUp       W_UK of each head for the naive form, `[nopeDim, kvLoraRank]`
/// @param keyAbsorb   W_UK of each head transposed for the absorbed form, `[kvLoraRank, nopeDim]`
/// @param valueUp     W_UV of each head, `[vDim, kvLoraRank]`
/// @param output      `[hiddenSize, heads * vDim]`
public record MlaWeights(
        MlaShape shape,
        MemorySegment inputNorm,
        PackedMatrix qA,
        MemorySegment qANorm,
        PackedMatrix qB,
        PackedMatrix kvA,
        MemorySegment kvANorm,
        List<PackedMatrix> keyUp,
        PackedMatrices keyAbsorb,
        PackedMatrices valueUp,
        PackedMatrix output) {

    /// @throws IllegalArgumentException if a head's matrix has another size than the shape says, or those of
    ///     `keyUp` are not alike
    public MlaWeights {
        OperatorArguments.heads("keyUp", keyUp, shape, shape.nopeDim(), shape.kvLoraRank());
        OperatorArguments.heads("keyAbsorb", keyAbsorb, shape, shape.kvLoraRank(), shape.nopeDim());
        OperatorArguments.heads("valueUp", valueUp, shape, shape.vDim(), shape.kvLoraRank());
    }
}
