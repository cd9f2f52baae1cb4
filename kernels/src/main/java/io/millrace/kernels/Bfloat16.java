package io.millrace.kernels;

/// The bfloat16 format: the upper half of a binary32.
public final class Bfloat16 {
    private Bfloat16() {}

    /// The float with the given bfloat16 bits; exact.
    public static float widen(short bits) {
        return Float.intBitsToFloat(bits << 16);
    }

    /// The bits of the nearest bfloat16, ties to even. NaN stays NaN.
    public static short round(float value) {
        int bits = Float.floatToRawIntBits(value);
        if ((bits & 0x7fffffff) > 0x7f800000) {
            return (short) ((bits >>> 16) | 0x40);
        }
        return (short) ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16);
    }
}
