package io.millrace.engine.model;

import io.millrace.kernels.Kernels;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/// A norm that leaves the residual stream and yields true states: those of the model before its weights
/// were rotated, which pages, requests and drafts hold.
///
/// @param gain   float32 `[hiddenSize]`; ones if the stream is rotated
/// @param block  block of the stream's rotation
/// @param back   signs times the norm's gain, which turn rotated rows back; null if the stream is not
///               rotated
record StateNorm(MemorySegment gain, int block, @Nullable MemorySegment back) {

    /// `y` = the states of `x`. x, y: `[rows, hiddenSize]`.
    void apply(Kernels kernels, MemorySegment x, float eps, int rows, MemorySegment y) {
        kernels.rmsNorm(x, gain, eps, rows, y);
        if (back != null) {
            kernels.hadamard(y, block, back, rows, y);
        }
    }
}
