package io.millrace.kernels;

import java.lang.foreign.MemorySegment;

/// A weight matrix in the layout its provider streams. Made by [Kernels#pack]; only the provider that
/// packed it may read it. The memory belongs to the arena given to `pack`.
///
/// @param format       number format of the elements
/// @param outFeatures  outputs, the rows of the checkpoint's matrix
/// @param inFeatures   inputs, its columns
/// @param group        inputs that share a scale in [QuantFormat#W4A8]; `inFeatures` elsewhere
/// @param scaleAxis    what the scales of [QuantFormat#W8A8] belong to; outputs elsewhere
/// @param layout       name of the layout, for checks
/// @param data         the packed elements, then the scales as the layout says
public record PackedMatrix(
        QuantFormat format,
        int outFeatures,
        int inFeatures,
        int group,
        ScaleAxis scaleAxis,
        String layout,
        MemorySegment data) {

    /// A matrix without scales.
    public PackedMatrix(QuantFormat format, int outFeatures, int inFeatures, String layout, MemorySegment data) {
        this(format, outFeatures, inFeatures, inFeatures, ScaleAxis.OUTPUT, layout, data);
    }
}
