package io.millrace.kernels;

/// How a row of floats becomes int8, the same in every provider to the bit: `scale = max|x| * (1/127)`,
/// `q = rint(x * (127 / max|x|))`, all in float32, ties to even. A row whose largest magnitude is below
/// `2^-100` becomes zeros with scale 0. Codes lie in -127..127.
public final class RowQuantization {
    /// Largest code.
    public static final int MAX_CODE = 127;

    /// Rows that nowhere exceed it are zero.
    public static final float SMALLEST = 0x1p-100f;

    private static final float INVERSE_MAX = 1f / MAX_CODE;

    private RowQuantization() {}

    /// Scale of a row, given its largest magnitude.
    public static float scale(float largest) {
        return largest < SMALLEST ? 0 : largest * INVERSE_MAX;
    }

    /// Factor that turns elements into codes, given the row's largest magnitude.
    public static float inverse(float largest) {
        return largest < SMALLEST ? 0 : MAX_CODE / largest;
    }

    /// Code of an element.
    ///
    /// @param inverse  [#inverse] of its row
    public static byte code(float x, float inverse) {
        return (byte) Math.rint(x * inverse);
    }

    /// Rounds `x[from, from + count)` to codes at the same indices of `codes`; returns the scale.
    public static float quantize(float[] x, int from, int count, byte[] codes) {
        float largest = 0;
        for (int i = from; i < from + count; i++) {
            largest = Math.max(largest, Math.abs(x[i]));
        }
        float inverse = inverse(largest);
        for (int i = from; i < from + count; i++) {
            codes[i] = code(x[i], inverse);
        }
        return scale(largest);
    }
}
