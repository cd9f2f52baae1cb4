package io.millrace.kernels;

import java.lang.foreign.MemorySegment;

/// A weight matrix in the layout its provider streams. Made by [Kernels#pack]; only the provider that packed it may
/// read
/// it. The memory belongs to the arena given to `pack`.
///
/// @param format       number format of the elements
/// @param outFeatures  outputs, the rows of the checkpoint's matrix
/// @param inFeatures   inputs, its columns
/// @param layout       name of the layout, for checks
/// @param data         the packed elements
public record PackedMatrix(QuantFormat format, int outFeatures, int inFeatures, String layout, MemorySegment data) {}
