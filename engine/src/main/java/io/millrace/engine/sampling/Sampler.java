package io.millrace.engine.sampling;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.sampling.SamplingBatch;
import io.millrace.kernels.sampling.SamplingCandidates;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// Draws tokens. The result depends on logits, parameters, seed, choice and position alone: not on
/// earlier draws, the other rows of the step, the machine or the compiler.
///
/// The order of the filters is vLLM's: temperature; min-p against the likeliest token; top-k; top-p over
/// what top-k left, renormalised, where the token that reaches the mass is kept. Ties go to the lower id,
/// so that top-k keeps exactly k. Then the Gumbel noise of the position is added to the log-probabilities
/// of the tokens left and the largest sum wins. Log-probs are those of the raw logits, whatever the
/// parameters; they are computed only where they are asked for.
///
/// A step's rows are added with what is wanted of them, then `sampleLogits` of the [Kernels] reads all
/// their logits, and each draw looks at the few tokens it listed: candidates in order for the filters,
/// contenders for a draw without filters. A row whose filters reach beyond the candidates is read once
/// more by [WholeRow], with the same result. What is decided in which precision:
///
/// - Ranks, ties, min-p and the noise: exact, or in double precision.
/// - The mass that top-p is a share of, where neither min-p nor top-k limits it, and the sum of a
///   log-prob: `sampleLogits`, whose terms are float32, the same for all providers.
/// - The mass where top-k limits it to no more than [SamplingBatch#MAX_CANDIDATES]: double precision, by
///   rank; where min-p alone does: double precision, by id.
///
/// One instance serves one thread at a time.
public final class Sampler {
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final int vocabSize;
    private final SamplingBatch batch;
    private final SamplingCandidates found;
    private final SamplingParams[] params;
    private final long[] seeds;
    private final int[] choices;
    private final int[] positions;
    private final GumbelNoise noise = new GumbelNoise();
    private final NoisyMaximum maximum = new NoisyMaximum(noise);
    private final WholeRow whole;
    private final int[] passingIds = new int[SamplingBatch.MAX_CANDIDATES];
    private MemorySegment logits = MemorySegment.NULL;
    private long wholeRows;

    /// @param vocabSize  number of logits of a row
    /// @param maxRows    most rows of a step
    public Sampler(int vocabSize, int maxRows) {
        this.vocabSize = vocabSize;
        this.batch = new SamplingBatch(maxRows, vocabSize);
        this.found = new SamplingCandidates(maxRows);
        this.params = new SamplingParams[maxRows];
        Arrays.fill(params, SamplingParams.GREEDY);
        this.seeds = new long[maxRows];
        this.choices = new int[maxRows];
        this.positions = new int[maxRows];
        this.whole = new WholeRow(vocabSize, maximum);
    }

    /// Begins a step.
    public void clear() {
        batch.clear();
    }

    /// Adds the next row of the step.
    ///
    /// @param how            how to draw
    /// @param seed           of the request
    /// @param choiceIndex    which of the request's answers
    /// @param tokenPosition  which token of the answer, from 0
    public void add(SamplingParams how, long seed, int choiceIndex, int tokenPosition) {
        int row = batch.rows();
        boolean tooHot = how.temperature() > SamplingBatch.MAX_TEMPERATURE;
        batch.add(candidates(how), how.greedy() || tooHot ? 1 : how.temperature());
        params[row] = how;
        seeds[row] = seed;
        choices[row] = choiceIndex;
        positions[row] = tokenPosition;
        if (how.topLogprobs().isPresent()) {
            batch.withLogitSum();
        }
        if (how.greedy() || tooHot) {
            return;
        }
        if (drawsFromAll(how)) {
            batch.withNoise(seed, choiceIndex, tokenPosition);
        } else if (how.topP() < 1 && how.minP() == 0 && !listsTopK(how)) {
            batch.withScaledSum();
        }
    }

    private int candidates(SamplingParams how) {
        int wanted = Math.max(1, how.topLogprobs().orElse(1));
        if (how.greedy() || drawsFromAll(how)) {
            return wanted;
        }
        return Math.max(wanted, listsTopK(how) ? how.topK() : SamplingBatch.MAX_CANDIDATES);
    }

    /// Whether no filter applies.
    private boolean drawsFromAll(SamplingParams how) {
        return how.minP() == 0 && !isFiltered(how);
    }

    private boolean isFiltered(SamplingParams how) {
        return how.topP() < 1 || limitsK(how);
    }

    private boolean limitsK(SamplingParams how) {
        return how.topK() > 0 && how.topK() < vocabSize;
    }

    /// Whether top-k leaves nothing but candidates.
    private boolean listsTopK(SamplingParams how) {
        return limitsK(how) && how.topK() <= SamplingBatch.MAX_CANDIDATES;
    }

    /// Reads the logits of the rows added.
    ///
    /// @param kernels  of any provider; used by this thread alone for the time of the call
    /// @param matrix   raw logits, float32 `[rows, vocabSize]` in native memory; negative infinity marks an
    ///                 impossible token. Borrowed until the last draw of the step
    public void scan(Kernels kernels, MemorySegment matrix) {
        long expected = (long) batch.rows() * vocabSize * Float.BYTES;
        if (matrix.byteSize() != expected) {
            throw new IllegalArgumentException("logits: " + matrix.byteSize() + " bytes (expected: " + expected + ")");
        }
        logits = matrix;
        kernels.sampleLogits(matrix, batch, found);
    }

    /// Draws the token of a row.
    ///
    /// @throws MillraceException `BROKEN_LOGITS` if a logit is NaN or positive infinity, or all are negative
    /// infinity
    public Sampled draw(int row) {
        check(row);
        SamplingParams how = params[row];
        int id = found.id(row, 0);
        if (!how.greedy()) {
            noise.select(seeds[row], choices[row], positions[row]);
            id = how.temperature() > SamplingBatch.MAX_TEMPERATURE || drawsFromAll(how)
                    ? drawUnfiltered(row, how)
                    : drawCandidate(row, how);
        }
        if (how.topLogprobs().isEmpty()) {
            return new Sampled(id, Float.NaN, List.of());
        }
        double max = found.logit(row, 0);
        double logSum = StrictMath.log(found.logitSum(row));
        return new Sampled(id, (float) (logit(row, id) - max - logSum), top(row, how, max, logSum));
    }

    /// How many rows had to be read once more.
    long wholeRows() {
        return wholeRows;
    }

    private void check(int row) {
        if (!found.isValid(row)) {
            int id = found.firstInvalid(row);
            float value = logit(row, id);
            throw new MillraceException(
                    ErrorCode.BROKEN_LOGITS,
                    "the model produced a logit that is not " + (Float.isNaN(value) ? "a number" : "finite")
                            + where(row) + " (token " + id + ": " + value + "; expected: a finite number)");
        }
        if (found.logit(row, 0) == Float.NEGATIVE_INFINITY) {
            throw new MillraceException(
                    ErrorCode.BROKEN_LOGITS,
                    "the model produced no possible token" + where(row)
                            + " (every logit: -Infinity; expected: at least one finite)");
        }
    }

    private String where(int row) {
        return " at position " + positions[row] + " of the answer";
    }

    private float logit(int row, int id) {
        return logits.get(FLOAT, ((long) row * vocabSize + id) * Float.BYTES);
    }

    private int drawUnfiltered(int row, SamplingParams how) {
        if (!found.hasContenders(row)) {
            return drawWhole(row, how, Double.NaN);
        }
        double max = found.logit(row, 0);
        double temperature = how.temperature();
        NoisyMaximum drawn = maximum.begin(found.id(row, 0));
        for (int i = 0; i < found.contenders(row); i++) {
            int id = found.contender(row, i);
            drawn.offer(id, (logit(row, id) - max) / temperature);
        }
        return drawn.winner();
    }

    private int drawWhole(int row, SamplingParams how, double total) {
        wholeRows++;
        WholeRow all = whole.of(logits, row);
        int best = found.id(row, 0);
        return isFiltered(how)
                ? all.drawFiltered(best, how, floor(how), total)
                : all.drawAll(best, how.temperature(), floor(how));
    }

    private static double floor(SamplingParams how) {
        return how.minP() > 0 ? StrictMath.log(how.minP()) : Double.NEGATIVE_INFINITY;
    }

    private double scaled(int row, int rank, SamplingParams how) {
        return ((double) found.logit(row, rank) - found.logit(row, 0)) / how.temperature();
    }

    /// Draws from the candidates that the filters leave, or from the whole row if they may leave others.
    private int drawCandidate(int row, SamplingParams how) {
        int passing = passing(row, how);
        boolean all = passing < found.count(row) || passing == vocabSize;
        if (listsTopK(how) && how.topK() <= passing) {
            passing = how.topK();
            all = true;
        }
        if (how.topP() == 1) {
            return all ? drawFrom(row, passing, how) : drawWhole(row, how, Double.NaN);
        }
        double total;
        if (listsTopK(how)) {
            total = massByRank(row, passing, how);
        } else if (how.minP() == 0) {
            total = found.scaledSum(row);
        } else if (all) {
            total = massById(row, passing, how);
        } else {
            return drawWhole(row, how, Double.NaN);
        }
        if (!all && limitsK(how)) {
            // Top-k leaves more than is listed, and its mass is not known.
            return drawWhole(row, how, total);
        }
        double wanted = how.topP() * total;
        double mass = 0;
        int kept = 0;
        while (kept < passing && (mass < wanted || kept == 0)) {
            mass += StableExp.exp(scaled(row, kept, how));
            kept++;
        }
        return mass < wanted && !all ? drawWhole(row, how, total) : drawFrom(row, kept, how);
    }

    /// How many of the first candidates are possible and pass min-p.
    private int passing(int row, SamplingParams how) {
        double floor = floor(how);
        int passing = 0;
        while (passing < found.count(row)
                && found.logit(row, passing) > Float.NEGATIVE_INFINITY
                && scaled(row, passing, how) >= floor) {
            passing++;
        }
        return passing;
    }

    private double massByRank(int row, int count, SamplingParams how) {
        double mass = 0;
        for (int rank = 0; rank < count; rank++) {
            mass += StableExp.exp(scaled(row, rank, how));
        }
        return mass;
    }

    private double massById(int row, int count, SamplingParams how) {
        for (int rank = 0; rank < count; rank++) {
            passingIds[rank] = found.id(row, rank);
        }
        Arrays.sort(passingIds, 0, count);
        double max = found.logit(row, 0);
        double mass = 0;
        for (int i = 0; i < count; i++) {
            mass += StableExp.exp((logit(row, passingIds[i]) - max) / how.temperature());
        }
        return mass;
    }

    private int drawFrom(int row, int kept, SamplingParams how) {
        NoisyMaximum drawn = maximum.begin(found.id(row, 0));
        for (int rank = 0; rank < kept; rank++) {
            drawn.offer(found.id(row, rank), scaled(row, rank, how));
        }
        return drawn.winner();
    }

    private List<TopLogprob> top(int row, SamplingParams how, double max, double logSum) {
        int count = Math.min(how.topLogprobs().orElse(0), found.count(row));
        List<TopLogprob> result = new ArrayList<>(count);
        for (int rank = 0; rank < count; rank++) {
            result.add(new TopLogprob(found.id(row, rank), (float) (found.logit(row, rank) - max - logSum)));
        }
        return result;
    }
}
