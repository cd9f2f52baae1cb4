package io.millrace.engine.sampling;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;

/// Draws that look at every token of a row: for the few rows whose filters reach beyond the listed
/// candidates. What is drawn is what the candidates would give if they were more.
///
/// It holds scratch memory of 12 bytes per vocabulary entry.
final class WholeRow {
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final float[] logits;
    /// Tokens that the filters so far leave: once sorted, by logit descending, then id ascending.
    private final long[] ranked;

    private final NoisyMaximum maximum;

    /// @param maximum  with the noise of the draw, shared with the caller
    WholeRow(int vocabSize, NoisyMaximum maximum) {
        this.logits = new float[vocabSize];
        this.ranked = new long[vocabSize];
        this.maximum = maximum;
    }

    /// Copies the row of a matrix of logits.
    WholeRow of(MemorySegment matrix, int row) {
        MemorySegment.copy(matrix, FLOAT, (long) row * logits.length * Float.BYTES, logits, 0, logits.length);
        return this;
    }

    /// Draws from all tokens that are not below the floor.
    ///
    /// @param best   token of the largest logit
    /// @param floor  least scaled logit
    int drawAll(int best, double temperature, double floor) {
        double max = logits[best];
        maximum.begin(best);
        for (int i = 0; i < logits.length; i++) {
            double scaled = (logits[i] - max) / temperature;
            if (scaled >= floor && scaled > Double.NEGATIVE_INFINITY) {
                maximum.offer(i, scaled);
            }
        }
        return maximum.winner();
    }

    /// Draws from what top-k and top-p leave of the tokens that are not below the floor.
    ///
    /// @param total  sum of `exp(scaled logit)` of those tokens, NaN if it is not known
    int drawFiltered(int best, SamplingParams params, double floor, double total) {
        double max = logits[best];
        double temperature = params.temperature();
        int passing = 0;
        for (int i = 0; i < logits.length; i++) {
            if (logits[i] > Float.NEGATIVE_INFINITY && (logits[i] - max) / temperature >= floor) {
                ranked[passing++] = (long) ~ordered(logits[i]) << 32 | i;
            }
        }
        Arrays.sort(ranked, 0, passing);
        return drawFrom(keep(passing, max, params, floor, total), max, temperature);
    }

    /// An integer of the order of the floats, both zeros equal.
    private static int ordered(float x) {
        int bits = Float.floatToRawIntBits(x + 0f);
        return bits < 0 ? bits ^ 0x7fffffff : bits;
    }

    private double total(double max, double temperature, double floor) {
        double total = 0;
        for (float logit : logits) {
            double scaled = (logit - max) / temperature;
            total += scaled >= floor ? StableExp.exp(scaled) : 0;
        }
        return total;
    }

    /// How many of the first tokens top-k and top-p keep.
    private int keep(int passing, double max, SamplingParams params, double floor, double massOfAll) {
        boolean byK = params.topK() > 0 && params.topK() < passing;
        int most = byK ? params.topK() : passing;
        if (params.topP() == 1) {
            return most;
        }
        double temperature = params.temperature();
        double total;
        if (byK) {
            total = 0;
            for (int rank = 0; rank < most; rank++) {
                total += mass(rank, max, temperature);
            }
        } else {
            total = Double.isNaN(massOfAll) ? total(max, temperature, floor) : massOfAll;
        }
        double wanted = params.topP() * total;
        double mass = 0;
        int kept = 0;
        while (kept < most && (mass < wanted || kept == 0)) {
            mass += mass(kept++, max, temperature);
        }
        return kept;
    }

    private double mass(int rank, double max, double temperature) {
        return StableExp.exp((logits[(int) ranked[rank]] - max) / temperature);
    }

    private int drawFrom(int kept, double max, double temperature) {
        maximum.begin((int) ranked[0]);
        for (int i = 0; i < kept; i++) {
            int id = (int) ranked[i];
            maximum.offer(id, (logits[id] - max) / temperature);
        }
        return maximum.winner();
    }
}
