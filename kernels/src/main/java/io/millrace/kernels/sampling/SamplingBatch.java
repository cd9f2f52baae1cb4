package io.millrace.kernels.sampling;

import java.util.Arrays;

/// What is asked of each row of logits of a step. Filled by the engine before each step, read by
/// `sampleLogits`; not thread-safe.
public final class SamplingBatch {
    /// Most tokens that are listed for a row.
    public static final int MAX_CANDIDATES = 256;

    /// Largest temperature of sums and noise: below it, two logits whose difference overflows are so far
    /// apart that the lower one weighs nothing.
    public static final float MAX_TEMPERATURE = 1e6f;

    private final int vocabSize;
    private final int[] candidates;
    private final float[] temperatures;
    private final boolean[] sumsScaled;
    private final boolean[] sumsLogits;
    private final boolean[] noisy;
    private final long[] seeds;
    private final int[] choices;
    private final int[] positions;
    private int rows;

    /// @param maxRows    most rows of a step
    /// @param vocabSize  logits of a row
    public SamplingBatch(int maxRows, int vocabSize) {
        if (vocabSize < 1) {
            throw new IllegalArgumentException("vocabSize: " + vocabSize + " (expected: at least 1)");
        }
        this.vocabSize = vocabSize;
        candidates = new int[maxRows];
        temperatures = new float[maxRows];
        sumsScaled = new boolean[maxRows];
        sumsLogits = new boolean[maxRows];
        noisy = new boolean[maxRows];
        seeds = new long[maxRows];
        choices = new int[maxRows];
        positions = new int[maxRows];
    }

    /// Empties the batch.
    public void clear() {
        rows = 0;
    }

    /// Adds a row; what more is wanted of it follows.
    ///
    /// @param wanted       how many of the largest logits are to be listed, 1..[#MAX_CANDIDATES]
    /// @param temperature  divisor of the logits in its sum and beside its noise
    public SamplingBatch add(int wanted, float temperature) {
        if (wanted < 1 || wanted > MAX_CANDIDATES) {
            throw new IllegalArgumentException("candidates: " + wanted + " (expected: 1.." + MAX_CANDIDATES + ")");
        }
        if (!(temperature > 0 && temperature <= MAX_TEMPERATURE)) {
            throw new IllegalArgumentException(
                    "temperature: " + temperature + " (expected: above 0, at most " + MAX_TEMPERATURE + ")");
        }
        if (rows == candidates.length) {
            throw new IllegalArgumentException("rows to sample: more than " + rows + " (expected: at most that)");
        }
        candidates[rows] = Math.min(wanted, vocabSize);
        temperatures[rows] = temperature;
        sumsScaled[rows] = false;
        sumsLogits[rows] = false;
        noisy[rows] = false;
        rows++;
        return this;
    }

    /// Asks for the last row's sum of `exp((logit - max) / temperature)`.
    public SamplingBatch withScaledSum() {
        sumsScaled[rows - 1] = true;
        return this;
    }

    /// Asks for the last row's sum of `exp(logit - max)`.
    public SamplingBatch withLogitSum() {
        sumsLogits[rows - 1] = true;
        return this;
    }

    /// Asks for the tokens of the last row that can win with the noise of a draw.
    ///
    /// @param seed      key of the generator
    /// @param choice    third word of its counter
    /// @param position  first word of its counter
    public SamplingBatch withNoise(long seed, int choice, int position) {
        int row = rows - 1;
        noisy[row] = true;
        seeds[row] = seed;
        choices[row] = choice;
        positions[row] = position;
        return this;
    }

    public int rows() {
        return rows;
    }

    public int maxRows() {
        return candidates.length;
    }

    public int vocabSize() {
        return vocabSize;
    }

    /// Most candidates of any row.
    public int mostCandidates() {
        int most = 0;
        for (int row = 0; row < rows; row++) {
            most = Math.max(most, candidates[row]);
        }
        return most;
    }

    /// How many candidates a row wants; no more than there are tokens.
    public int candidates(int row) {
        return candidates[row];
    }

    public float temperature(int row) {
        return temperatures[row];
    }

    public boolean wantsScaledSum(int row) {
        return sumsScaled[row];
    }

    public boolean wantsLogitSum(int row) {
        return sumsLogits[row];
    }

    public boolean wantsNoise(int row) {
        return noisy[row];
    }

    /// Whether a row wants more than its candidates.
    public boolean weighs(int row) {
        return sumsScaled[row] || sumsLogits[row] || noisy[row];
    }

    public long seed(int row) {
        return seeds[row];
    }

    public int choice(int row) {
        return choices[row];
    }

    public int position(int row) {
        return positions[row];
    }

    /// The random words of four tokens of a row.
    ///
    /// @param block  a quarter of the first token's id
    /// @param words  out: their words
    public void words(int row, int block, int[] words) {
        words[0] = positions[row];
        words[1] = Philox4x32.TOKEN_NOISE;
        words[2] = choices[row];
        words[3] = block;
        Philox4x32.apply(words, (int) seeds[row], (int) (seeds[row] >>> 32));
    }

    @Override
    public String toString() {
        return rows + " rows of " + vocabSize + " logits, candidates "
                + Arrays.toString(Arrays.copyOf(candidates, rows));
    }
}
