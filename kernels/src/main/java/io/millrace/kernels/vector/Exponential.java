package io.millrace.kernels.vector;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;

/// `e^x` by range reduction and a polynomial, every step a rounding of its own choice: the library's lanewise `exp`
/// differs between the compiler's tiers. Relative error below 3e-7 on [-87, 87].
final class Exponential {
    /// Below minus this the result is exactly 0, so that no denormal arises.
    static final float FLUSH = 87;

    private static final float LOG2_E = 1.442695f;
    private static final float LN2_HIGH = 0.6933594f;
    private static final float LN2_LOW = -2.1219444e-4f;
    // Adding and subtracting this rounds to the nearest integer, which then is in the low mantissa bits.
    private static final float ROUND = 12582912f;
    private static final int ROUND_BITS = 0x4b400000;

    private Exponential() {}

    // Calls the API alone, which is inlined even where the compiler's budget is spent.
    static FloatVector exp(FloatVector x) {
        FloatVector bounded = x.max(-FLUSH).min(FLUSH);
        FloatVector shifted = bounded.fma(LOG2_E, ROUND);
        FloatVector n = shifted.sub(ROUND);
        FloatVector r = n.fma(FloatVector.broadcast(Lanes.FLOATS, -LN2_HIGH), bounded);
        r = n.fma(FloatVector.broadcast(Lanes.FLOATS, -LN2_LOW), r);
        FloatVector p = FloatVector.broadcast(Lanes.FLOATS, 1.9875691e-4f);
        p = p.fma(r, FloatVector.broadcast(Lanes.FLOATS, 1.3981999e-3f));
        p = p.fma(r, FloatVector.broadcast(Lanes.FLOATS, 8.333452e-3f));
        p = p.fma(r, FloatVector.broadcast(Lanes.FLOATS, 4.1665796e-2f));
        p = p.fma(r, FloatVector.broadcast(Lanes.FLOATS, 0.16666666f));
        p = p.fma(r, FloatVector.broadcast(Lanes.FLOATS, 0.5f));
        p = p.fma(r.mul(r), r).add(1f);
        IntVector exponent = shifted.reinterpretAsInts().sub(ROUND_BITS - 127);
        FloatVector power = exponent.lanewise(VectorOperators.LSHL, 23).reinterpretAsFloats();
        VectorMask<Float> flushed = x.compare(VectorOperators.LT, -FLUSH);
        return p.mul(power).blend(0f, flushed);
    }

    /// `1 / (1 + e^-x)`, 0 below -87.
    static FloatVector sigmoid(FloatVector x) {
        FloatVector s = FloatVector.broadcast(Lanes.FLOATS, 1f).div(exp(x.neg()).add(1f));
        return s.blend(0f, x.compare(VectorOperators.LT, -FLUSH));
    }

    /// `silu(gate) * up` into gate, over `count` elements.
    static void swiglu(long gate, long up, int count) {
        int i = 0;
        for (; i + Lanes.COUNT <= count; i += Lanes.COUNT) {
            long at = Lanes.base(gate + i * 4L);
            FloatVector u = Lanes.load(up + i * 4L);
            FloatVector g = Lanes.load(at);
            // Not by Lanes.store: behind so many operations only the API's own methods are still inlined.
            g.mul(sigmoid(g)).mul(u).intoMemorySegment(Lanes.ALL, at, Lanes.ORDER);
        }
        if (i < count) {
            swigluTail(gate + i * 4L, up + i * 4L, Lanes.tail(i, count));
        }
    }

    // Apart, so that the loop above stays within the inlining budget; the same below.
    private static void swigluTail(long gate, long up, VectorMask<Float> tail) {
        FloatVector g = Lanes.load(gate, tail);
        Lanes.store(g.mul(sigmoid(g)).mul(Lanes.load(up, tail)), gate, tail);
    }

    /// `sigmoid(x)` into x, over `count` elements.
    static void sigmoid(long x, int count) {
        int i = 0;
        for (; i + Lanes.COUNT <= count; i += Lanes.COUNT) {
            long at = Lanes.base(x + i * 4L);
            sigmoid(Lanes.load(at)).intoMemorySegment(Lanes.ALL, at, Lanes.ORDER);
        }
        if (i < count) {
            sigmoidTail(x + i * 4L, Lanes.tail(i, count));
        }
    }

    private static void sigmoidTail(long x, VectorMask<Float> tail) {
        Lanes.store(sigmoid(Lanes.load(x, tail)), x, tail);
    }
}
