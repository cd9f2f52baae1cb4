package io.millrace.engine.kv;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/// Looks for NaN and infinity among little-endian numbers, eight bytes at a time. Such a number has an
/// exponent of ones: one more in its last place carries into the place of the sign, which is masked out,
/// and no further.
final class FiniteBytes {
    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long FLOAT_EXPONENTS = 0x7f80_0000_7f80_0000L;
    private static final long FLOAT_ONES = 0x0080_0000_0080_0000L;
    private static final long FLOAT_CARRIES = 0x8000_0000_8000_0000L;
    private static final long BFLOAT16_EXPONENTS = 0x7f80_7f80_7f80_7f80L;
    private static final long BFLOAT16_ONES = 0x0080_0080_0080_0080L;
    private static final long BFLOAT16_CARRIES = 0x8000_8000_8000_8000L;

    private FiniteBytes() {}

    /// @param to  whole numbers after `from`
    static boolean ofFloats(byte[] bytes, int from, int to) {
        return are(bytes, from, to, FLOAT_EXPONENTS, FLOAT_ONES, FLOAT_CARRIES);
    }

    /// @param to  whole numbers after `from`
    static boolean ofBfloat16s(byte[] bytes, int from, int to) {
        return are(bytes, from, to, BFLOAT16_EXPONENTS, BFLOAT16_ONES, BFLOAT16_CARRIES);
    }

    private static boolean are(byte[] bytes, int from, int to, long exponents, long ones, long carries) {
        long found = 0;
        int at = from;
        for (; at <= to - Long.BYTES; at += Long.BYTES) {
            found |= ((long) LONGS.get(bytes, at) & exponents) + ones;
        }
        long rest = 0;
        for (int i = 0; at + i < to; i++) {
            rest |= (bytes[at + i] & 0xffL) << (i * Byte.SIZE);
        }
        found |= (rest & exponents) + ones;
        return (found & carries) == 0;
    }
}
