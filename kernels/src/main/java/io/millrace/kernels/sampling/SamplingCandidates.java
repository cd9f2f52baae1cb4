package io.millrace.kernels.sampling;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// What `sampleLogits` found in each row of a step. Reused between steps; rows are written by one thread.
public final class SamplingCandidates {
    /// Most contenders of a row.
    public static final int MAX_CONTENDERS = 64;

    private static final int VALID = -1;
    private static final int TOO_MANY = -1;

    private final int[] invalid;
    private final int[] counts;
    private final int[] ids;
    private final float[] logits;
    private final double[] scaledSums;
    private final double[] logitSums;
    private final int[] contenderCounts;
    private final int[] contenders;

    /// @param maxRows  most rows of a step
    public SamplingCandidates(int maxRows) {
        invalid = new int[maxRows];
        counts = new int[maxRows];
        ids = new int[Math.multiplyExact(maxRows, SamplingBatch.MAX_CANDIDATES)];
        logits = new float[ids.length];
        scaledSums = new double[maxRows];
        logitSums = new double[maxRows];
        contenderCounts = new int[maxRows];
        contenders = new int[Math.multiplyExact(maxRows, MAX_CONTENDERS)];
    }

    public int maxRows() {
        return invalid.length;
    }

    /// Whether every logit of the row is a number below positive infinity. The row of a broken one has
    /// nothing but [#firstInvalid].
    public boolean isValid(int row) {
        return invalid[row] == VALID;
    }

    /// The lowest token whose logit is NaN or positive infinity, in a row that is not valid.
    public int firstInvalid(int row) {
        return invalid[row];
    }

    /// How many candidates the row has.
    public int count(int row) {
        return counts[row];
    }

    /// The token of a rank, 0 for the largest logit; ties by lower id.
    public int id(int row, int rank) {
        return ids[row * SamplingBatch.MAX_CANDIDATES + rank];
    }

    /// The logit of a rank.
    public float logit(int row, int rank) {
        return logits[row * SamplingBatch.MAX_CANDIDATES + rank];
    }

    /// The sum of `exp((logit - max) / temperature)`, 0 unless asked for.
    public double scaledSum(int row) {
        return scaledSums[row];
    }

    /// The sum of `exp(logit - max)`, 0 unless asked for.
    public double logitSum(int row) {
        return logitSums[row];
    }

    /// Whether the contenders are all listed. They are but for a freak of the noise.
    public boolean hasContenders(int row) {
        return contenderCounts[row] > 0;
    }

    /// How many tokens can win the draw.
    public int contenders(int row) {
        return Math.max(0, contenderCounts[row]);
    }

    /// A token that can win the draw, ascending.
    public int contender(int row, int index) {
        return contenders[row * MAX_CONTENDERS + index];
    }

    /// Writes a row with an invalid logit.
    public void reject(int row, int firstInvalid) {
        clear(row);
        invalid[row] = firstInvalid;
    }

    private void clear(int row) {
        invalid[row] = VALID;
        counts[row] = 0;
        scaledSums[row] = 0;
        logitSums[row] = 0;
        contenderCounts[row] = 0;
    }

    /// Writes the candidates of a valid row; what else it has is cleared.
    ///
    /// @param rowIds     int32 ids in native memory, from byte `idOffset` on
    /// @param rowLogits  their float32 logits, from byte `logitOffset` on
    public void rank(
            int row, int count, MemorySegment rowIds, long idOffset, MemorySegment rowLogits, long logitOffset) {
        clear(row);
        counts[row] = count;
        int at = row * SamplingBatch.MAX_CANDIDATES;
        MemorySegment.copy(rowIds, JAVA_INT, idOffset, ids, at, count);
        MemorySegment.copy(rowLogits, JAVA_FLOAT, logitOffset, logits, at, count);
    }

    /// The same from the beginning of arrays.
    public void rank(int row, int count, int[] rowIds, float[] rowLogits) {
        clear(row);
        counts[row] = count;
        int at = row * SamplingBatch.MAX_CANDIDATES;
        System.arraycopy(rowIds, 0, ids, at, count);
        System.arraycopy(rowLogits, 0, logits, at, count);
    }

    /// Writes the sums of a row.
    public void sums(int row, double scaledSum, double logitSum) {
        scaledSums[row] = scaledSum;
        logitSums[row] = logitSum;
    }

    /// Appends a contender; more than [#MAX_CONTENDERS] leave the row without any.
    public void contend(int row, int id) {
        int count = contenderCounts[row];
        if (count == MAX_CONTENDERS) {
            tooMany(row);
        } else if (count != TOO_MANY) {
            contenders[row * MAX_CONTENDERS + count] = id;
            contenderCounts[row] = count + 1;
        }
    }

    /// Leaves a row without contenders, as there are too many.
    public void tooMany(int row) {
        contenderCounts[row] = TOO_MANY;
    }

    /// Whether a row holds the same as a row of another instance, to the bit.
    public boolean sameRow(int row, SamplingCandidates other, int otherRow) {
        int at = row * SamplingBatch.MAX_CANDIDATES;
        int from = otherRow * SamplingBatch.MAX_CANDIDATES;
        int noisy = row * MAX_CONTENDERS;
        int noisyFrom = otherRow * MAX_CONTENDERS;
        return invalid[row] == other.invalid[otherRow]
                && counts[row] == other.counts[otherRow]
                && Arrays.equals(ids, at, at + counts[row], other.ids, from, from + counts[row])
                && Arrays.equals(logits, at, at + counts[row], other.logits, from, from + counts[row])
                && Double.compare(scaledSums[row], other.scaledSums[otherRow]) == 0
                && Double.compare(logitSums[row], other.logitSums[otherRow]) == 0
                && contenderCounts[row] == other.contenderCounts[otherRow]
                && Arrays.equals(
                        contenders,
                        noisy,
                        noisy + contenders(row),
                        other.contenders,
                        noisyFrom,
                        noisyFrom + contenders(row));
    }
}
