package io.millrace.engine.checkpoint;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/// Widens stored numbers to float32, exactly: BF16, F16, and FP8-E4M3 (no infinities; NaN is `S.1111.111`).
final class Widening {
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final float[] E4M3 = e4m3();

    private Widening() {}

    /// Widens `elements` numbers. `from` and `to` start at the first element.
    static void widen(TensorType type, MemorySegment from, long elements, MemorySegment to) {
        switch (type) {
            case F32 -> MemorySegment.copy(from, 0, to, 0, elements * Float.BYTES);
            case BF16 -> {
                for (long i = 0; i < elements; i++) {
                    to.setAtIndex(FLOAT, i, Float.intBitsToFloat(from.getAtIndex(SHORT, i) << 16));
                }
            }
            case F16 -> {
                for (long i = 0; i < elements; i++) {
                    to.setAtIndex(FLOAT, i, Float.float16ToFloat(from.getAtIndex(SHORT, i)));
                }
            }
            case F8_E4M3, BOOL, U8, I8, F8_E5M2, I16, U16, I32, U32, I64, U64, F64 ->
                throw new IllegalArgumentException("type: " + type + " (expected: F32, BF16 or F16)");
        }
    }

    /// Widens an FP8 matrix and multiplies each element by the scale of its block.
    ///
    /// @param codes   `[rows, columns]`, one byte each
    /// @param scales  float32, `[ceil(rows / blocks.rows), ceil(columns / blocks.columns)]`
    /// @param to      float32, `[rows, columns]`
    static void widenFp8(MemorySegment codes, MemorySegment scales, Fp8Blocks blocks, int columns, MemorySegment to) {
        long rows = codes.byteSize() / columns;
        int scaleColumns = blocks.scaleColumns(columns);
        for (long row = 0; row < rows; row++) {
            long scaleRow = row / blocks.rows() * scaleColumns;
            for (int block = 0; block < scaleColumns; block++) {
                float scale = scales.getAtIndex(FLOAT, scaleRow + block);
                long from = row * columns + (long) block * blocks.columns();
                long end = Math.min(from + blocks.columns(), (row + 1) * columns);
                for (long i = from; i < end; i++) {
                    to.setAtIndex(FLOAT, i, E4M3[codes.get(ValueLayout.JAVA_BYTE, i) & 0xff] * scale);
                }
            }
        }
    }

    /// The number an E4M3 code stands for.
    static float e4m3(int code) {
        return E4M3[code];
    }

    private static float[] e4m3() {
        float[] result = new float[256];
        for (int code = 0; code < 256; code++) {
            int exponent = code >> 3 & 15;
            int mantissa = code & 7;
            float size = exponent == 0
                    ? Math.scalb((float) mantissa, -9)
                    : Math.scalb((float) (8 + mantissa), exponent - 10);
            result[code] = (code & 0x7f) == 0x7f ? Float.NaN : code < 128 ? size : -size;
        }
        return result;
    }
}
