package io.millrace.kernels.vector;

import io.millrace.kernels.sampling.NoiseBounds;
import io.millrace.kernels.sampling.SamplingSlices;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/// Loops over a slice of a row of logits, each small enough for the compiler. Their sums run in 16 lanes, whatever the
/// width of a vector: lanes of different vectors never meet.
final class SliceLoops {
    /// Lanes of a sum.
    static final int LANES = 16;

    private static final int BLOCK = SamplingSlices.BLOCK;

    private SliceLoops() {}

    /// The largest of up to 64 floats; NaN if there is one.
    static float largest(long x, int count) {
        if (count < BLOCK) {
            float max = Float.NEGATIVE_INFINITY;
            for (int i = 0; i < count; i++) {
                max = Math.max(max, Lanes.get(x + i * 4L));
            }
            return max;
        }
        long at = Lanes.base(x);
        FloatVector max = Lanes.load(at);
        for (int i = Lanes.COUNT; i < BLOCK; i += Lanes.COUNT) {
            max = max.max(Lanes.load(at + i * 4L));
        }
        // The order of a maximum does not show.
        return max.reduceLanes(VectorOperators.MAX);
    }

    /// `(x - max) / temperature`, and negative infinity behind the end up to the next whole block.
    static void scale(long x, int count, float max, float temperature, long to) {
        int i = 0;
        if (temperature == 1) {
            for (; i + Lanes.COUNT <= count; i += Lanes.COUNT) {
                Lanes.store(Lanes.load(x + i * 4L).sub(max), to + i * 4L);
            }
        } else {
            for (; i + Lanes.COUNT <= count; i += Lanes.COUNT) {
                Lanes.store(Lanes.load(x + i * 4L).sub(max).div(temperature), to + i * 4L);
            }
        }
        for (; i < count; i++) {
            Lanes.set(to + i * 4L, (Lanes.get(x + i * 4L) - max) / temperature);
        }
        for (; i % BLOCK != 0; i++) {
            Lanes.set(to + i * 4L, Float.NEGATIVE_INFINITY);
        }
    }

    /// `e^x` in place, of whole vectors.
    static void exponentials(long x, int count) {
        for (int i = 0; i < count; i += Lanes.COUNT) {
            long at = Lanes.base(x + i * 4L);
            Exponential.exp(Lanes.load(at)).intoMemorySegment(Lanes.ALL, at, Lanes.ORDER);
        }
    }

    /// Sums whole blocks in 16 lanes: in a block `(x0 + x1) + (x2 + x3)`, blocks in order.
    static void sumBlocks(long x, int count, long to) {
        for (int lane = 0; lane < LANES; lane += Lanes.COUNT) {
            FloatVector sum = Lanes.zero();
            for (int i = lane; i < count; i += BLOCK) {
                long at = Lanes.base(x + i * 4L);
                FloatVector front = Lanes.load(at).add(Lanes.load(at + LANES * 4L));
                FloatVector back = Lanes.load(at + 2 * LANES * 4L).add(Lanes.load(at + 3 * LANES * 4L));
                sum = sum.add(front.add(back));
            }
            Lanes.store(sum, to + lane * 4L);
        }
    }

    /// `to = x + upper noise of the words`, over a block.
    static void addUpperNoise(long words, long x, long to) {
        for (int i = 0; i < BLOCK; i += Lanes.COUNT) {
            IntVector halved = Lanes.loadInts(words + i * 4L).not().lanewise(VectorOperators.LSHR, 1);
            FloatVector shifted = ((FloatVector) halved.convert(VectorOperators.I2F, 0)).add(0.25f);
            FloatVector bits = (FloatVector) shifted.reinterpretAsInts().convert(VectorOperators.I2F, 0);
            FloatVector upper = bits.fma(NoiseBounds.SLOPE, NoiseBounds.START);
            Lanes.store(Lanes.load(x + i * 4L).add(upper), to + i * 4L);
        }
    }
}
