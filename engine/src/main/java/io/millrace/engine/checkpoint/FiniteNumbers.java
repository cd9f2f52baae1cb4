package io.millrace.engine.checkpoint;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/// Finds numbers that are infinite or none at all (NaN) in stored tensors.
final class FiniteNumbers {
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    // All bits of the exponent: infinities and NaN have them set. FP8-E4M3 has one NaN alone.
    private static final int BF16_EXPONENT = 0x7f80;
    private static final int F16_EXPONENT = 0x7c00;
    private static final int F32_EXPONENT = 0x7f80_0000;
    private static final int E4M3_NAN = 0x7f;

    private FiniteNumbers() {}

    /// Checks a tensor of floating-point numbers.
    ///
    /// @throws io.millrace.engine.error.MillraceException `INVALID_CHECKPOINT`, naming file, tensor and
    /// element
    static void require(SafetensorsFile file, TensorInfo info) {
        MemorySegment data = file.data(info.name());
        long at = firstUnsound(info.type(), data, info.elements());
        if (at < info.elements()) {
            throw InvalidCheckpoint.of(
                    file.path(),
                    "tensor " + info.name() + ": " + number(info.type(), data, at) + " at element " + at,
                    "finite numbers");
        }
    }

    private static long firstUnsound(TensorType type, MemorySegment data, long elements) {
        return switch (type) {
            case BF16 -> firstWithBits(data, elements, BF16_EXPONENT);
            case F16 -> firstWithBits(data, elements, F16_EXPONENT);
            case F32 -> {
                long i = 0;
                while (i < elements && (data.getAtIndex(INT, i) & F32_EXPONENT) != F32_EXPONENT) {
                    i++;
                }
                yield i;
            }
            case F8_E4M3 -> {
                long i = 0;
                while (i < elements && (data.get(ValueLayout.JAVA_BYTE, i) & E4M3_NAN) != E4M3_NAN) {
                    i++;
                }
                yield i;
            }
            case BOOL, U8, I8, F8_E5M2, I16, U16, I32, U32, I64, U64, F64 ->
                throw new IllegalArgumentException("type: " + type + " (expected: F32, BF16, F16 or F8_E4M3)");
        };
    }

    private static long firstWithBits(MemorySegment data, long elements, int bits) {
        long i = 0;
        while (i < elements && (data.getAtIndex(SHORT, i) & bits) != bits) {
            i++;
        }
        return i;
    }

    private static float number(TensorType type, MemorySegment data, long at) {
        return switch (type) {
            case BF16 -> Float.intBitsToFloat(data.getAtIndex(SHORT, at) << 16);
            case F16 -> Float.float16ToFloat(data.getAtIndex(SHORT, at));
            case F32 -> Float.intBitsToFloat(data.getAtIndex(INT, at));
            case F8_E4M3, BOOL, U8, I8, F8_E5M2, I16, U16, I32, U32, I64, U64, F64 -> Float.NaN;
        };
    }
}
