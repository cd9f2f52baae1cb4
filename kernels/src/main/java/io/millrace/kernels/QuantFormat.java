package io.millrace.kernels;

/// Number format of a weight matrix at run time, and of the arithmetic that uses it.
public enum QuantFormat {
    /// IEEE binary32.
    F32(32),
    /// bfloat16: the upper half of a binary32. Widened exactly, products and sums in binary32.
    BF16(16),
    /// int8 weights with one float32 scale per output (or per input, [QuantizedMatrix]), int8
    /// activations with one scale per row, sums in int32.
    W8A8(8),
    /// int4 weights in groups along the inputs with one bfloat16 scale per group, int8 activations with
    /// one scale per row; sums in int32 within a group, in binary32 over groups.
    W4A8(4);

    private final int bits;

    QuantFormat(int bits) {
        this.bits = bits;
    }

    /// Bits of one element.
    public int bits() {
        return bits;
    }

    /// Whether activations are rounded to integers before they are multiplied.
    public boolean isInteger() {
        return this == W8A8 || this == W4A8;
    }

    /// Bytes of one element of a floating-point format.
    ///
    /// @throws IllegalStateException if the format is an integer one, whose elements lie as its layout
    /// says
    public int elementBytes() {
        if (isInteger()) {
            throw new IllegalStateException(this + " has no element of its own (expected: F32 or BF16)");
        }
        return bits / Byte.SIZE;
    }
}
