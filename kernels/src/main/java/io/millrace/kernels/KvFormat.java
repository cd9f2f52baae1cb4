package io.millrace.kernels;

/// Number format of cached key rows (latents, roped keys, index keys). A row is rounded to it when written and always
/// read back from the page, so a fresh row and a stored one are the same.
public enum KvFormat {
    /// IEEE binary32: the reference.
    F32(4),
    /// bfloat16, rounded to nearest even.
    BF16(2);

    private final int elementBytes;

    KvFormat(int elementBytes) {
        this.elementBytes = elementBytes;
    }

    /// Bytes of one element.
    public int elementBytes() {
        return elementBytes;
    }
}
