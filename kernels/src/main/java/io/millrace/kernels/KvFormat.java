package io.millrace.kernels;

/// Number format of cached key rows (latents, roped keys, index keys). A row is rounded to it when
/// written and always read back from the page, so a fresh row and a stored one are the same.
public enum KvFormat {
    /// IEEE binary32: the reference.
    F32(4),
    /// bfloat16, rounded to nearest even.
    BF16(2),
    /// int8 with float32 scales, one for each part of a row ([PagedRows]), rounded as [RowQuantization]
    /// says.
    INT8(1);

    private final int elementBytes;

    KvFormat(int elementBytes) {
        this.elementBytes = elementBytes;
    }

    /// Bytes of one element, without its share of a scale.
    public int elementBytes() {
        return elementBytes;
    }
}
