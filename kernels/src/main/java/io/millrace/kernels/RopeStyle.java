package io.millrace.kernels;

/// Which elements a rotary embedding pairs.
public enum RopeStyle {
    /// Pairs (2i, 2i+1), rotated in place.
    INTERLEAVED,
    /// Pairs (i, i + ropeDim/2).
    HALF_SPLIT
}
