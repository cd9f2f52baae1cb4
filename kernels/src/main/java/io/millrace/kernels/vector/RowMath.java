package io.millrace.kernels.vector;

import io.millrace.kernels.Bfloat16;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.PagedRows;
import io.millrace.kernels.RopeStyle;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorShuffle;

/// What is computed of one row at a time. Addresses are those of float32 rows.
final class RowMath {
    private static final VectorShuffle<Float> SWAP = Lanes.butterfly(1);
    private static final VectorShuffle<Float> FRONT = VectorShuffle.fromOp(Lanes.FLOATS, i -> i / 2);
    private static final VectorShuffle<Float> BACK = VectorShuffle.fromOp(Lanes.FLOATS, i -> (Lanes.COUNT + i) / 2);

    /// -1 in even lanes, 1 in odd ones.
    private static final FloatVector SIGNS =
            FloatVector.broadcast(Lanes.FLOATS, 1f).blend(-1f, VectorMask.fromLong(Lanes.FLOATS, 0x55555555));

    private RowMath() {}

    /// `y = x / sqrt(mean(x²) + eps) * gain`.
    static void rmsNorm(long x, long gain, int width, float eps, long y) {
        float factor = inverseRoot(squares(x, 0, width) / width + eps);
        int i = 0;
        for (; i + Lanes.COUNT <= width; i += Lanes.COUNT) {
            FloatVector v = Lanes.load(x + i * 4L).mul(factor).mul(Lanes.load(gain + i * 4L));
            Lanes.store(v, y + i * 4L);
        }
        if (i < width) {
            VectorMask<Float> tail = Lanes.tail(i, width);
            FloatVector v = Lanes.load(x + i * 4L, tail).mul(factor).mul(Lanes.load(gain + i * 4L, tail));
            Lanes.store(v, y + i * 4L, tail);
        }
    }

    /// `x = (x - mean) / sqrt(variance + eps) * gain + bias`.
    static void layerNorm(long x, long gain, long bias, int width, float eps) {
        float mean = sum(x, width) / width;
        float factor = inverseRoot(squares(x, mean, width) / width + eps);
        int i = 0;
        for (; i + Lanes.COUNT <= width; i += Lanes.COUNT) {
            FloatVector v = Lanes.load(x + i * 4L).sub(mean).mul(factor);
            Lanes.store(v.fma(Lanes.load(gain + i * 4L), Lanes.load(bias + i * 4L)), x + i * 4L);
        }
        if (i < width) {
            VectorMask<Float> tail = Lanes.tail(i, width);
            FloatVector v = Lanes.load(x + i * 4L, tail).sub(mean).mul(factor);
            v = v.fma(Lanes.load(gain + i * 4L, tail), Lanes.load(bias + i * 4L, tail));
            Lanes.store(v, x + i * 4L, tail);
        }
    }

    private static float inverseRoot(float x) {
        return (float) (1 / Math.sqrt(x));
    }

    private static float sum(long x, int width) {
        FloatVector sum = Lanes.zero();
        int i = 0;
        for (; i + Lanes.COUNT <= width; i += Lanes.COUNT) {
            sum = sum.add(Lanes.load(x + i * 4L));
        }
        if (i < width) {
            sum = sum.add(Lanes.load(x + i * 4L, Lanes.tail(i, width)));
        }
        return Lanes.sum(sum);
    }

    private static float squares(long x, float mean, int width) {
        FloatVector sum = Lanes.zero();
        int i = 0;
        for (; i + Lanes.COUNT <= width; i += Lanes.COUNT) {
            FloatVector v = Lanes.load(x + i * 4L).sub(mean);
            sum = v.fma(v, sum);
        }
        if (i < width) {
            VectorMask<Float> tail = Lanes.tail(i, width);
            FloatVector v = Lanes.load(x + i * 4L, tail).sub(mean).blend(0f, tail.not());
            sum = v.fma(v, sum);
        }
        return Lanes.sum(sum);
    }

    /// `y += x`.
    static void add(long x, long y, int count) {
        int i = 0;
        for (; i + Lanes.COUNT <= count; i += Lanes.COUNT) {
            Lanes.store(Lanes.load(y + i * 4L).add(Lanes.load(x + i * 4L)), y + i * 4L);
        }
        if (i < count) {
            VectorMask<Float> tail = Lanes.tail(i, count);
            Lanes.store(Lanes.load(y + i * 4L, tail).add(Lanes.load(x + i * 4L, tail)), y + i * 4L, tail);
        }
    }

    /// `y = x * factor`. x may be y.
    static void scale(long x, float factor, int count, long y) {
        int i = 0;
        for (; i + Lanes.COUNT <= count; i += Lanes.COUNT) {
            Lanes.store(Lanes.load(x + i * 4L).mul(factor), y + i * 4L);
        }
        if (i < count) {
            VectorMask<Float> tail = Lanes.tail(i, count);
            Lanes.store(Lanes.load(x + i * 4L, tail).mul(factor), y + i * 4L, tail);
        }
    }

    /// `y = y * factor + x`.
    static void rescale(long y, float factor, long x, int count) {
        int i = 0;
        for (; i + Lanes.COUNT <= count; i += Lanes.COUNT) {
            Lanes.store(Lanes.load(y + i * 4L).fma(Lanes.broadcast(factor), Lanes.load(x + i * 4L)), y + i * 4L);
        }
        if (i < count) {
            VectorMask<Float> tail = Lanes.tail(i, count);
            FloatVector v = Lanes.load(y + i * 4L, tail);
            Lanes.store(v.fma(Lanes.broadcast(factor), Lanes.load(x + i * 4L, tail)), y + i * 4L, tail);
        }
    }

    /// `y = x * factor + y`.
    static void accumulate(long x, float factor, long y, int count) {
        int i = 0;
        for (; i + Lanes.COUNT <= count; i += Lanes.COUNT) {
            Lanes.store(Lanes.load(x + i * 4L).fma(Lanes.broadcast(factor), Lanes.load(y + i * 4L)), y + i * 4L);
        }
        if (i < count) {
            VectorMask<Float> tail = Lanes.tail(i, count);
            FloatVector v = Lanes.load(x + i * 4L, tail);
            Lanes.store(v.fma(Lanes.broadcast(factor), Lanes.load(y + i * 4L, tail)), y + i * 4L, tail);
        }
    }

    /// Rotates `ropeDim` elements in place.
    static void rotate(long x, RopeStyle style, int ropeDim, long cos, long sin) {
        int half = ropeDim / 2;
        long first = style == RopeStyle.INTERLEAVED ? 8 : 4;
        long second = style == RopeStyle.INTERLEAVED ? 4 : half * 4L;
        int vectors = half / Lanes.COUNT;
        switch (style) {
            case INTERLEAVED -> rotatePairs(x, vectors, cos, sin);
            case HALF_SPLIT -> rotateHalves(x, second, vectors, cos, sin);
        }
        for (int i = vectors * Lanes.COUNT; i < half; i++) {
            long at = x + i * first;
            float a = Lanes.get(at);
            float b = Lanes.get(at + second);
            float c = Lanes.get(cos + i * 4L);
            float s = Lanes.get(sin + i * 4L);
            Lanes.set(at, a * c - b * s);
            Lanes.set(at + second, b * c + a * s);
        }
    }

    private static void rotateHalves(long x, long second, int vectors, long cos, long sin) {
        for (int i = 0; i < vectors; i++) {
            long at = (long) i * Lanes.BYTES;
            FloatVector a = Lanes.load(x + at);
            FloatVector b = Lanes.load(x + at + second);
            FloatVector c = Lanes.load(cos + at);
            FloatVector s = Lanes.load(sin + at);
            Lanes.store(a.mul(c).sub(b.mul(s)), x + at);
            Lanes.store(b.mul(c).add(a.mul(s)), x + at + second);
        }
    }

    /// Two vectors of pairs at a time; the sign of a product is turned exactly.
    private static void rotatePairs(long x, int vectors, long cos, long sin) {
        for (int i = 0; i < vectors; i++) {
            long at = (long) i * Lanes.BYTES;
            FloatVector c = Lanes.load(cos + at);
            FloatVector s = Lanes.load(sin + at);
            FloatVector v = Lanes.load(x + 2 * at);
            FloatVector turned = v.rearrange(SWAP).mul(s.rearrange(FRONT)).mul(SIGNS);
            Lanes.store(v.mul(c.rearrange(FRONT)).add(turned), x + 2 * at);
            v = Lanes.load(x + 2 * at + Lanes.BYTES);
            turned = v.rearrange(SWAP).mul(s.rearrange(BACK)).mul(SIGNS);
            Lanes.store(v.mul(c.rearrange(BACK)).add(turned), x + 2 * at + Lanes.BYTES);
        }
    }

    /// Rounds a row to its page's format and stores it there.
    static void write(PagedRows rows, int[] pages, int slot, long x) {
        long to = Lanes.address(rows.pool()) + rows.rowOffset(pages, slot);
        int count = rows.rowElements();
        switch (rows.format()) {
            case F32 -> Lanes.copy(x, to, count * 4L);
            case BF16 -> writeBfloat16(x, count, to);
            case INT8 -> CodeRows.write(rows, pages, slot, x);
        }
    }

    static void writeBfloat16(long x, int count, long to) {
        int i = 0;
        for (; i + Lanes.COUNT <= count; i += Lanes.COUNT) {
            Lanes.storeBfloat16(Lanes.load(x + i * 4L), to + i * 2L);
        }
        for (; i < count; i++) {
            Lanes.setShort(to + i * 2L, Bfloat16.round(Lanes.get(x + i * 4L)));
        }
    }

    /// Reads `count` cached elements as floats; codes without their scales.
    static void read(KvFormat format, long from, int count, long y) {
        switch (format) {
            case F32 -> Lanes.copy(from, y, count * 4L);
            case BF16 -> {
                int i = 0;
                for (; i + Lanes.COUNT <= count; i += Lanes.COUNT) {
                    Lanes.store(Lanes.loadBfloat16(from + i * 2L), y + i * 4L);
                }
                for (; i < count; i++) {
                    Lanes.set(y + i * 4L, Bfloat16.widen(Lanes.getShort(from + i * 2L)));
                }
            }
            case INT8 -> CodeRows.codes(from, count, y);
        }
    }
}
