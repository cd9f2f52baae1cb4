package io.millrace.kernels;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Float32 memory of tests: allocation and comparison.
public final class Floats {
    private Floats() {}

    public static MemorySegment of(float... values) {
        MemorySegment segment = zeros(values.length);
        MemorySegment.copy(values, 0, segment, ValueLayout.JAVA_FLOAT, 0, values.length);
        return segment;
    }

    public static MemorySegment zeros(long count) {
        return Arena.ofAuto().allocate(Math.max(1, count) * Float.BYTES, 64);
    }

    public static MemorySegment copy(MemorySegment from) {
        return Arena.ofAuto().allocate(from.byteSize(), 64).copyFrom(from);
    }

    public static float get(MemorySegment segment, long index) {
        return segment.getAtIndex(ValueLayout.JAVA_FLOAT, index);
    }

    /// The rows `[from, from + count)` of a matrix of `width` columns, without copying.
    public static MemorySegment rows(MemorySegment segment, int from, int count, int width) {
        return segment.asSlice((long) from * width * Float.BYTES, (long) count * width * Float.BYTES);
    }

    public static void assertSameBits(MemorySegment actual, MemorySegment expected) {
        assertThat(actual.mismatch(expected)).as("first differing byte").isEqualTo(-1);
    }

    /// Each row's largest difference is at most `tolerance` of the row's largest expected magnitude, or of 1 if that is
    /// less.
    public static void assertClose(MemorySegment actual, MemorySegment expected, int width, double tolerance) {
        long count = expected.byteSize() / Float.BYTES;
        for (long row = 0; row + width <= count; row += width) {
            double scale = 1;
            for (long i = row; i < row + width; i++) {
                scale = Math.max(scale, Math.abs(get(expected, i)));
            }
            for (long i = row; i < row + width; i++) {
                double difference = Math.abs((double) get(actual, i) - get(expected, i));
                if (!(difference <= tolerance * scale)) {
                    assertThat(get(actual, i))
                            .as("element %d of row %d, row magnitude %s", i - row, row / width, scale)
                            .isEqualTo(get(expected, i));
                }
            }
        }
    }
}
