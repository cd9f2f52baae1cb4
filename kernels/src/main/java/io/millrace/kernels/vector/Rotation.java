package io.millrace.kernels.vector;

import io.millrace.kernels.Hadamard;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorShuffle;

/// The [Hadamard] rotation in lanes, with the same roundings in the same order.
final class Rotation {
    private static final VectorShuffle<Float> SWAP1 = Lanes.butterfly(1);
    private static final VectorShuffle<Float> SWAP2 = Lanes.butterfly(2);
    private static final VectorShuffle<Float> SWAP4 = Lanes.butterfly(4);
    private static final VectorShuffle<Float> SWAP8 = Lanes.butterfly(8);

    /// 1 in the lanes of a sum and -1 in those of a difference, for distances 1, 2, 4, 8; then all 1.
    private static final long SIGNS = signs();

    private Rotation() {}

    private static long signs() {
        float[] signs = new float[5 * Lanes.COUNT];
        for (int i = 0; i < signs.length; i++) {
            int distance = 1 << (i / Lanes.COUNT);
            signs[i] = distance <= 8 && (i % Lanes.COUNT & distance) != 0 ? -1 : 1;
        }
        MemorySegment segment = Arena.global().allocateFrom(ValueLayout.JAVA_FLOAT, signs);
        return segment.address();
    }

    /// Rotates `width` floats in place.
    static void rotate(long x, int width, int block) {
        if (block == 1) {
            return;
        }
        if (width % Lanes.COUNT != 0) {
            plain(x, width, block);
            return;
        }
        for (int distance = 1; distance < Math.min(block, Lanes.COUNT); distance *= 2) {
            within(x, width, distance);
        }
        for (int distance = Lanes.COUNT; distance < block; distance *= 2) {
            across(x, width, distance);
        }
        RowMath.scale(x, Hadamard.factor(block), width, x);
    }

    private static void within(long x, int width, int distance) {
        switch (distance) {
            case 1 -> within(x, width, SWAP1, SIGNS);
            case 2 -> within(x, width, SWAP2, SIGNS + Lanes.BYTES);
            case 4 -> within(x, width, SWAP4, SIGNS + 2L * Lanes.BYTES);
            case 8 -> within(x, width, SWAP8, SIGNS + 3L * Lanes.BYTES);
            default -> throw new IllegalStateException("butterfly of " + distance + " in a vector");
        }
    }

    /// `partner + x` or, where the sign is -1, `partner - x`, which a fused multiply-add rounds once.
    private static void within(long x, int width, VectorShuffle<Float> swap, long signs) {
        FloatVector sign = Lanes.load(signs);
        for (int i = 0; i < width; i += Lanes.COUNT) {
            FloatVector v = Lanes.load(x + i * 4L);
            Lanes.store(v.fma(sign, v.rearrange(swap)), x + i * 4L);
        }
    }

    private static void across(long x, int width, int distance) {
        for (int from = 0; from < width; from += 2 * distance) {
            for (int i = from; i < from + distance; i += Lanes.COUNT) {
                long at = x + i * 4L;
                long partner = at + distance * 4L;
                FloatVector a = Lanes.load(at);
                FloatVector b = Lanes.load(partner);
                Lanes.store(a.add(b), at);
                Lanes.store(a.sub(b), partner);
            }
        }
    }

    /// Blocks smaller than a vector, in rows that are no whole vectors.
    private static void plain(long x, int width, int block) {
        for (int distance = 1; distance < block; distance *= 2) {
            for (int i = 0; i < width; i++) {
                if ((i & distance) == 0) {
                    float a = Lanes.get(x + i * 4L);
                    float b = Lanes.get(x + (i + distance) * 4L);
                    Lanes.set(x + i * 4L, a + b);
                    Lanes.set(x + (i + distance) * 4L, a - b);
                }
            }
        }
        RowMath.scale(x, Hadamard.factor(block), width, x);
    }

    /// `y = H(x) * scale`. x may be y.
    static void rotate(long x, int width, int block, long scale, long y) {
        if (x != y) {
            Lanes.copy(x, y, width * 4L);
        }
        rotate(y, width, block);
        for (int i = 0; i + Lanes.COUNT <= width; i += Lanes.COUNT) {
            Lanes.store(Lanes.load(y + i * 4L).mul(Lanes.load(scale + i * 4L)), y + i * 4L);
        }
        for (int i = width / Lanes.COUNT * Lanes.COUNT; i < width; i++) {
            Lanes.set(y + i * 4L, Lanes.get(y + i * 4L) * Lanes.get(scale + i * 4L));
        }
    }
}
