package io.millrace.engine.sampling;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/// Draws that look at every token of a row: for the few rows whose filters reach beyond the listed
/// candidates. What is drawn is what the candidates would give if they were more.
///
/// It holds scratch memory of 8 bytes per vocabulary entry.
final class WholeRow {
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final float[] logits;
    private final CandidateHeap heap;
    private final GumbelNoise noise;

    /// @param noise  of the draw, shared with the caller
    WholeRow(int vocabSize, GumbelNoise noise) {
        this.logits = new float[vocabSize];
        this.heap = new CandidateHeap(vocabSize);
        this.noise = noise;
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
        int winner = best;
        double winning = Double.NEGATIVE_INFINITY;
        for (int i = 0; i < logits.length; i++) {
            double scaled = (logits[i] - max) / temperature;
            if (scaled < floor || scaled == Double.NEGATIVE_INFINITY) {
                continue;
            }
            int word = noise.word(i);
            if (scaled + GumbelNoise.noiseBound(word) <= winning) {
                continue;
            }
            double sum = scaled + GumbelNoise.noise(word);
            if (sum > winning) {
                winning = sum;
                winner = i;
            }
        }
        return winner;
    }

    /// Draws from what top-k and top-p leave of the tokens that are not below the floor.
    ///
    /// @param total  sum of `exp(scaled logit)` of those tokens, NaN if it is not known
    int drawFiltered(int best, SamplingParams params, double floor, double total) {
        double max = logits[best];
        double temperature = params.temperature();
        heap.reset(logits);
        for (int i = 0; i < logits.length; i++) {
            if (logits[i] > Float.NEGATIVE_INFINITY && (logits[i] - max) / temperature >= floor) {
                heap.append(i);
            }
        }
        double mass = Double.isNaN(total) && params.topP() < 1 ? total(max, temperature, floor) : total;
        heap.build();
        return drawFrom(keep(max, params, mass), max, temperature);
    }

    private double total(double max, double temperature, double floor) {
        double total = 0;
        for (float logit : logits) {
            double scaled = (logit - max) / temperature;
            total += scaled >= floor ? StableExp.exp(scaled) : 0;
        }
        return total;
    }

    /// Draws the tokens that top-k and top-p keep from the heap, and returns their number.
    private int keep(double max, SamplingParams params, double massOfAll) {
        double temperature = params.temperature();
        double total = massOfAll;
        int most = heap.size();
        boolean byK = params.topK() > 0 && params.topK() < most;
        if (byK) {
            most = params.topK();
            total = 0;
            for (int i = 0; i < most; i++) {
                total += StableExp.exp((logits[heap.draw()] - max) / temperature);
            }
        }
        if (params.topP() == 1) {
            return byK ? most : drawOut();
        }
        double wanted = params.topP() * total;
        double mass = 0;
        int kept = 0;
        while (kept < most && (mass < wanted || kept == 0)) {
            int id = byK ? heap.drawn(kept) : heap.draw();
            mass += StableExp.exp((logits[id] - max) / temperature);
            kept++;
        }
        return kept;
    }

    private int drawOut() {
        int count = heap.size();
        while (heap.size() > 0) {
            heap.draw();
        }
        return count;
    }

    private int drawFrom(int kept, double max, double temperature) {
        int winner = heap.drawn(0);
        double winning = Double.NEGATIVE_INFINITY;
        for (int i = 0; i < kept; i++) {
            int id = heap.drawn(i);
            double scaled = (logits[id] - max) / temperature;
            int word = noise.word(id);
            if (scaled + GumbelNoise.noiseBound(word) <= winning) {
                continue;
            }
            double sum = scaled + GumbelNoise.noise(word);
            if (sum > winning || (sum == winning && id < winner)) {
                winning = sum;
                winner = id;
            }
        }
        return winner;
    }
}
