package io.millrace.kernels;

import java.lang.foreign.MemorySegment;

/// Cosines and sines of the rows of one step, float32, `[rows, ropeDim/2]` each. Borrowed.
public record RopeRows(MemorySegment cos, MemorySegment sin, int ropeDim) {}
