package io.millrace.kernels.scalar;

import io.millrace.kernels.sampling.NoiseBounds;
import io.millrace.kernels.sampling.SamplingBatch;
import io.millrace.kernels.sampling.SamplingCandidates;
import io.millrace.kernels.sampling.SamplingSlices;
import java.util.Arrays;

/// Sampling over the vocabulary, one row after the other, by the definition.
final class SamplingLoops {
    private static final int LANES = 16;

    private SamplingLoops() {}

    static void sample(float[] logits, SamplingBatch batch, int row, SamplingCandidates found) {
        for (int id = 0; id < logits.length; id++) {
            if (!(logits[id] < Float.POSITIVE_INFINITY)) {
                found.reject(row, id);
                return;
            }
        }
        rank(logits, batch.candidates(row), row, found);
        float max = found.logit(row, 0);
        if (max == Float.NEGATIVE_INFINITY) {
            return;
        }
        double scaledSum = batch.wantsScaledSum(row) ? sum(logits, max, batch.temperature(row)) : 0;
        double logitSum = batch.wantsLogitSum(row) ? sum(logits, max, 1) : 0;
        found.sums(row, scaledSum, logitSum);
        if (batch.wantsNoise(row)) {
            contend(logits, max, batch, row, found);
        }
    }

    private static void rank(float[] logits, int wanted, int row, SamplingCandidates found) {
        Integer[] order = new Integer[logits.length];
        Arrays.setAll(order, id -> id);
        Arrays.sort(order, (a, b) -> logits[a] > logits[b] ? -1 : logits[a] < logits[b] ? 1 : Integer.compare(a, b));
        int[] ids = new int[wanted];
        float[] best = new float[wanted];
        for (int rank = 0; rank < wanted; rank++) {
            ids[rank] = order[rank];
            best[rank] = logits[ids[rank]];
        }
        found.rank(row, wanted, ids, best);
    }

    private static double sum(float[] logits, float max, float temperature) {
        double total = 0;
        for (int from = 0; from < logits.length; from += SamplingSlices.SLICE) {
            float[] lanes = new float[LANES];
            int end = Math.min(logits.length, from + SamplingSlices.SLICE);
            for (int block = from; block < end; block += SamplingSlices.BLOCK) {
                float[] e = new float[SamplingSlices.BLOCK];
                for (int id = block; id < Math.min(end, block + SamplingSlices.BLOCK); id++) {
                    e[id - block] = exp((logits[id] - max) / temperature);
                }
                for (int lane = 0; lane < LANES; lane++) {
                    lanes[lane] += (e[lane] + e[lane + LANES]) + (e[lane + 2 * LANES] + e[lane + 3 * LANES]);
                }
            }
            for (int half = LANES / 2; half > 0; half /= 2) {
                for (int lane = 0; lane < half; lane++) {
                    lanes[lane] += lanes[lane + half];
                }
            }
            total += lanes[0];
        }
        return total;
    }

    /// `e^x` of an x of at most 0, exactly 0 below -87: x is `n log(2) + r`, and a polynomial gives `e^r`. Relative
    /// error below 3e-7.
    static float exp(float x) {
        if (x < -87) {
            return 0;
        }
        float n = Math.fma(x, 1.442695f, 12582912f) - 12582912f;
        float r = Math.fma(n, -0.6933594f, x);
        r = Math.fma(n, 2.1219444e-4f, r);
        float p = 1.9875691e-4f;
        p = Math.fma(p, r, 1.3981999e-3f);
        p = Math.fma(p, r, 8.333452e-3f);
        p = Math.fma(p, r, 4.1665796e-2f);
        p = Math.fma(p, r, 0.16666666f);
        p = Math.fma(p, r, 0.5f);
        p = Math.fma(p, r * r, r) + 1;
        return p * Math.scalb(1f, (int) n);
    }

    private static void contend(float[] logits, float max, SamplingBatch batch, int row, SamplingCandidates found) {
        int slices = SamplingSlices.count(logits.length);
        float[] tops = new float[logits.length];
        float[] floors = new float[slices];
        int[] words = new int[4];
        int best = found.id(row, 0);
        batch.words(row, best / 4, words);
        Arrays.fill(floors, NoiseBounds.lower(words[best % 4]));
        float floor = floors[0];
        for (int id = 0; id < logits.length; id++) {
            if (id % 4 == 0) {
                batch.words(row, id / 4, words);
            }
            float scaled = (logits[id] - max) / batch.temperature(row);
            tops[id] = scaled + NoiseBounds.upper(words[id % 4]);
            float bottom = scaled + NoiseBounds.lower(words[id % 4]);
            floors[id / SamplingSlices.SLICE] = Math.max(floors[id / SamplingSlices.SLICE], bottom);
            floor = Math.max(floor, bottom);
        }
        int[] counts = new int[slices];
        for (int id = 0; id < logits.length; id++) {
            int slice = id / SamplingSlices.SLICE;
            if (tops[id] > floors[slice] && ++counts[slice] > SamplingSlices.MAX_CONTENDERS) {
                found.tooMany(row);
                return;
            }
            if (tops[id] > floor) {
                found.contend(row, id);
            }
        }
    }
}
