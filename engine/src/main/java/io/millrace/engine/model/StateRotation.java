package io.millrace.engine.model;

import io.millrace.kernels.Kernels;
import java.lang.foreign.MemorySegment;

/// How true states enter matrices that were rotated for them: `lm_head`, and the half of `eh_proj`
/// that reads states. Nothing happens in a model without rotation.
///
/// @param block  block of the rotation; 1 for none
/// @param ones   float32 `[hiddenSize]`
record StateRotation(int block, MemorySegment ones) {

    /// Rotates rows in place. x: `[rows, hiddenSize]`.
    void apply(Kernels kernels, MemorySegment x, int rows) {
        if (block > 1) {
            kernels.hadamard(x, block, ones, rows, x);
        }
    }
}
