package io.millrace.kernels.vector;

import io.millrace.kernels.sampling.Philox4x32;
import io.millrace.kernels.sampling.SamplingBatch;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShuffle;
import jdk.incubator.vector.VectorSpecies;

/// The random words of many token ids: [Philox4x32] with a block of four ids to a lane of 64 bits.
final class NoiseWords {
    private static final VectorSpecies<Long> LONGS = Lanes.FLOATS.withLanes(long.class);
    private static final int COUNT = LONGS.length();
    private static final long LOW = 0xffffffffL;
    private static final LongVector RAMP = LongVector.zero(LONGS).addIndex(1);
    private static final VectorShuffle<Long> FRONT = VectorShuffle.fromOp(LONGS, i -> i / 2);
    private static final VectorShuffle<Long> BACK = VectorShuffle.fromOp(LONGS, i -> (LONGS.length() + i) / 2);
    private static final VectorMask<Long> ODD = VectorMask.fromLong(LONGS, 0xAAAA);

    private NoiseWords() {}

    /// Writes the words of consecutive ids.
    ///
    /// @param first  first id, a multiple of 4
    /// @param count  how many ids, a multiple of 4 times a vector's 64-bit lanes
    /// @param to     address of their words
    static void fill(SamplingBatch batch, int row, int first, int count, long to) {
        long seed = batch.seed(row);
        for (int i = 0; i < count; i += 4 * COUNT) {
            LongVector blocks = RAMP.add((first + i) / 4);
            words(seed, batch.position(row) & LOW, batch.choice(row) & LOW, blocks, to + i * 4L);
        }
    }

    private static void words(long seed, long position, long choice, LongVector blocks, long to) {
        LongVector w0 = LongVector.broadcast(LONGS, position);
        LongVector w1 = LongVector.broadcast(LONGS, Philox4x32.TOKEN_NOISE);
        LongVector w2 = LongVector.broadcast(LONGS, choice);
        LongVector w3 = blocks;
        int key0 = (int) seed;
        int key1 = (int) (seed >>> 32);
        for (int round = 0; round < Philox4x32.ROUNDS; round++) {
            LongVector product0 = w0.mul(Philox4x32.MULTIPLIER_0);
            LongVector product1 = w2.mul(Philox4x32.MULTIPLIER_1);
            w0 = product1.lanewise(VectorOperators.LSHR, 32)
                    .lanewise(VectorOperators.XOR, w1)
                    .lanewise(VectorOperators.XOR, key0 & LOW);
            w2 = product0.lanewise(VectorOperators.LSHR, 32)
                    .lanewise(VectorOperators.XOR, w3)
                    .lanewise(VectorOperators.XOR, key1 & LOW);
            w1 = product1.and(LOW);
            w3 = product0.and(LOW);
            key0 += Philox4x32.WEYL_0;
            key1 += Philox4x32.WEYL_1;
        }
        store(
                w0.lanewise(VectorOperators.OR, w1.lanewise(VectorOperators.LSHL, 32)),
                w2.lanewise(VectorOperators.OR, w3.lanewise(VectorOperators.LSHL, 32)),
                to);
    }

    /// Stores pairs of words so that the four words of a block follow each other.
    private static void store(LongVector front, LongVector back, long to) {
        long at = Lanes.base(to);
        front.rearrange(FRONT).blend(back.rearrange(FRONT), ODD).intoMemorySegment(Lanes.ALL, at, Lanes.ORDER);
        front.rearrange(BACK)
                .blend(back.rearrange(BACK), ODD)
                .intoMemorySegment(Lanes.ALL, at + Lanes.BYTES, Lanes.ORDER);
    }
}
