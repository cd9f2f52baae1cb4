package io.millrace.kernels;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;

/// Random test data with a seed that is printed, and replayed by `-Dmillrace.seed=N`.
public final class SeededRandom {
    private final Random random;

    private SeededRandom(long seed) {
        this.random = new Random(seed);
    }

    /// A generator for the named test.
    public static SeededRandom of(String test) {
        long seed = Long.getLong("millrace.seed", System.nanoTime());
        System.out.println(test + ": replay with -Dmillrace.seed=" + seed);
        return new SeededRandom(seed);
    }

    public int below(int bound) {
        return random.nextInt(bound);
    }

    public float gaussian() {
        return (float) random.nextGaussian();
    }

    /// Floats, normal with the given deviation, in 64-byte aligned native memory.
    public MemorySegment floats(long count, double deviation) {
        MemorySegment segment = Arena.ofAuto().allocate(Math.max(1, count) * Float.BYTES, 64);
        for (long i = 0; i < count; i++) {
            segment.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) (random.nextGaussian() * deviation));
        }
        return segment;
    }

    /// Small whole numbers from `-bound` to `bound`: products and sums of them are exact in any order.
    public MemorySegment integers(long count, int bound) {
        MemorySegment segment = Arena.ofAuto().allocate(Math.max(1, count) * Float.BYTES, 64);
        for (long i = 0; i < count; i++) {
            segment.setAtIndex(ValueLayout.JAVA_FLOAT, i, random.nextInt(2 * bound + 1) - bound);
        }
        return segment;
    }

    /// A random matrix that starts `skip` elements into its memory: sources need no alignment.
    public MatrixView matrix(QuantFormat format, int rows, int columns, int skip) {
        MemorySegment values = floats((long) rows * columns + skip, 1 / Math.sqrt(columns));
        return new MatrixView(format, inFormat(format, values), skip, rows, columns, columns, 1);
    }

    /// Rounds float32 values to a weight format.
    public static MemorySegment inFormat(QuantFormat format, MemorySegment floats) {
        if (format == QuantFormat.F32) {
            return floats;
        }
        long count = floats.byteSize() / Float.BYTES;
        MemorySegment rounded = Arena.ofAuto().allocate(count * Short.BYTES, 64);
        for (long i = 0; i < count; i++) {
            rounded.setAtIndex(ValueLayout.JAVA_SHORT, i, Bfloat16.round(floats.getAtIndex(ValueLayout.JAVA_FLOAT, i)));
        }
        return rounded;
    }
}
