package io.millrace.kernels;

/// Number format of a weight matrix at run time.
public enum QuantFormat {
    /// IEEE binary32.
    F32(4),
    /// bfloat16: the upper half of a binary32. Widened exactly, products and sums in binary32.
    BF16(2);

    private final int elementBytes;

    QuantFormat(int elementBytes) {
        this.elementBytes = elementBytes;
    }

    /// Bytes of one element.
    public int elementBytes() {
        return elementBytes;
    }
}
