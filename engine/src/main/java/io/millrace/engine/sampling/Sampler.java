package io.millrace.engine.sampling;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/// Draws tokens. The result depends on logits, parameters, seed, choice and position alone: not on
/// earlier draws, the machine or the compiler.
///
/// The order of the filters is vLLM's: temperature; min-p against the likeliest token; top-k; top-p over
/// what top-k left, renormalised, where the token that reaches the mass is kept. Ties go to the lower id,
/// so that top-k keeps exactly k. Then the Gumbel noise of the position is added to the log-probabilities
/// of the tokens left and the largest sum wins. Log-probs are those of the raw logits, whatever the
/// parameters; they are computed only where they are asked for, as they cost several times a greedy draw.
///
/// One instance serves one thread at a time and holds scratch memory of 8 bytes per vocabulary entry.
public final class Sampler {
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final int vocabSize;
    private final float[] copied;
    private final CandidateHeap heap;
    private final GumbelNoise noise = new GumbelNoise();
    private final int[] topIds = new int[SamplingParams.MAX_TOP_LOGPROBS];

    /// @param vocabSize  number of logits of a position
    public Sampler(int vocabSize) {
        if (vocabSize < 1) {
            throw new IllegalArgumentException("vocabSize: " + vocabSize + " (expected: at least 1)");
        }
        this.vocabSize = vocabSize;
        this.copied = new float[vocabSize];
        this.heap = new CandidateHeap(vocabSize);
    }

    /// As [#sample(float[], SamplingParams, long, int, int)], from a segment of float32.
    public Sampled sample(MemorySegment logits, SamplingParams params, long seed, int choiceIndex, int tokenPosition) {
        if (logits.byteSize() != (long) vocabSize * Float.BYTES) {
            throw new IllegalArgumentException(
                    "logits: " + logits.byteSize() + " bytes (expected: " + (long) vocabSize * Float.BYTES + ")");
        }
        MemorySegment.copy(logits, FLOAT, 0, copied, 0, vocabSize);
        return sample(copied, params, seed, choiceIndex, tokenPosition);
    }

    /// Draws one token.
    ///
    /// @param logits         raw logits, one per token id; negative infinity marks an impossible token
    /// @param params         how to draw
    /// @param seed           of the request
    /// @param choiceIndex    which of the request's answers
    /// @param tokenPosition  which token of the answer, from 0
    /// @throws MillraceException `INTERNAL` if a logit is NaN or positive infinity, or all are negative
    /// infinity
    public Sampled sample(float[] logits, SamplingParams params, long seed, int choiceIndex, int tokenPosition) {
        if (logits.length != vocabSize) {
            throw new IllegalArgumentException("logits: " + logits.length + " (expected: " + vocabSize + ")");
        }
        int best = largest(logits);
        int id = best;
        if (!params.greedy()) {
            noise.select(seed, choiceIndex, tokenPosition);
            id = draw(logits, best, params);
        }
        if (params.topLogprobs().isEmpty()) {
            return new Sampled(id, Float.NaN, List.of());
        }
        double max = logits[best];
        double logSum = StrictMath.log(exponentialSum(logits, max));
        List<TopLogprob> top = top(logits, params.topLogprobs().getAsInt(), max, logSum);
        return new Sampled(id, (float) (logits[id] - max - logSum), top);
    }

    private int largest(float[] logits) {
        int best = 0;
        for (int i = 0; i < logits.length; i++) {
            float logit = logits[i];
            if (!(logit < Float.POSITIVE_INFINITY)) {
                throw new MillraceException(
                        ErrorCode.INTERNAL, "logit of token " + i + ": " + logit + " (expected: a finite number)");
            }
            if (logit > logits[best]) {
                best = i;
            }
        }
        if (logits[best] == Float.NEGATIVE_INFINITY) {
            throw new MillraceException(
                    ErrorCode.INTERNAL, "logits: every token is impossible (expected: at least one finite)");
        }
        return best;
    }

    private int draw(float[] logits, int best, SamplingParams params) {
        double max = logits[best];
        double temperature = params.temperature();
        double floor = params.minP() > 0 ? StrictMath.log(params.minP()) : Double.NEGATIVE_INFINITY;
        boolean filtered = params.topP() < 1 || (params.topK() > 0 && params.topK() < vocabSize);
        if (!filtered) {
            return drawAll(logits, best, temperature, floor);
        }
        heap.reset(logits);
        for (int i = 0; i < vocabSize; i++) {
            if (logits[i] > Float.NEGATIVE_INFINITY && (logits[i] - max) / temperature >= floor) {
                heap.append(i);
            }
        }
        heap.build();
        return drawFrom(keep(logits, max, params), logits, max, temperature);
    }

    /// Draws the tokens that top-k and top-p keep from the heap, and returns their number.
    private int keep(float[] logits, double max, SamplingParams params) {
        double temperature = params.temperature();
        double total = 0;
        int most = heap.size();
        boolean byK = params.topK() > 0 && params.topK() < most;
        if (byK) {
            most = params.topK();
            for (int i = 0; i < most; i++) {
                total += StableExp.exp((logits[heap.draw()] - max) / temperature);
            }
        }
        if (params.topP() == 1) {
            return byK ? most : drawOut();
        }
        if (!byK) {
            for (int i = 0; i < most; i++) {
                total += StableExp.exp((logits[heap.waiting(i)] - max) / temperature);
            }
        }
        double wanted = params.topP() * total;
        double mass = 0;
        int kept = 0;
        while (kept < most && mass < wanted) {
            int id = byK ? heap.drawn(kept) : heap.draw();
            mass += StableExp.exp((logits[id] - max) / temperature);
            kept++;
        }
        return Math.max(kept, 1);
    }

    private int drawOut() {
        int count = heap.size();
        while (heap.size() > 0) {
            heap.draw();
        }
        return count;
    }

    private int drawFrom(int kept, float[] logits, double max, double temperature) {
        int winner = heap.drawn(0);
        double winning = Double.NEGATIVE_INFINITY;
        for (int i = 0; i < kept; i++) {
            int id = heap.drawn(i);
            double sum = (logits[id] - max) / temperature + GumbelNoise.noise(noise.word(id));
            if (sum > winning || (sum == winning && id < winner)) {
                winning = sum;
                winner = id;
            }
        }
        return winner;
    }

    private int drawAll(float[] logits, int best, double temperature, double floor) {
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

    private static double exponentialSum(float[] logits, double max) {
        double sum = 0;
        for (float logit : logits) {
            sum += StableExp.exp(logit - max);
        }
        return sum;
    }

    private List<TopLogprob> top(float[] logits, int wanted, double max, double logSum) {
        int count = 0;
        int capacity = Math.min(wanted, vocabSize);
        for (int i = 0; i < vocabSize && capacity > 0; i++) {
            if (count == capacity && logits[i] <= logits[topIds[count - 1]]) {
                continue;
            }
            int place = count < capacity ? count++ : count - 1;
            while (place > 0 && logits[i] > logits[topIds[place - 1]]) {
                topIds[place] = topIds[place - 1];
                place--;
            }
            topIds[place] = i;
        }
        List<TopLogprob> result = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            result.add(new TopLogprob(topIds[i], (float) (logits[topIds[i]] - max - logSum)));
        }
        return result;
    }
}
