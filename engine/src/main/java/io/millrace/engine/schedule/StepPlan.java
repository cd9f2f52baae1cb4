package io.millrace.engine.schedule;

/// The rows of one step: runs of consecutive tokens of several sequences. Filled by the scheduler, read
/// by the model and the loop, reused for every step.
final class StepPlan {
    private final Sequence[] sequences;
    private final int[] firstTokens;
    private final int[] rowEnds;
    private final int[] sampledIndexes;
    private final int maxRows;
    private int count;
    private int rows;
    private int sampled;
    private double units;

    StepPlan(int maxSequences, int maxRows) {
        this.sequences = new Sequence[maxSequences];
        this.firstTokens = new int[maxSequences];
        this.rowEnds = new int[maxSequences];
        this.sampledIndexes = new int[maxSequences];
        this.maxRows = maxRows;
    }

    void clear() {
        count = 0;
        rows = 0;
        sampled = 0;
        units = 0;
    }

    /// Adds the next `tokens` uncomputed tokens of a sequence; its last row is sampled when no known
    /// token follows.
    void add(Sequence sequence, int tokens) {
        sequences[count] = sequence;
        firstTokens[count] = sequence.computed();
        rows += tokens;
        units += StepBudget.units(sequence.computed(), tokens);
        rowEnds[count] = rows;
        sampledIndexes[count] = sequence.computed() + tokens == sequence.known() ? sampled++ : -1;
        count++;
    }

    boolean isEmpty() {
        return count == 0;
    }

    /// How many sequences take part.
    int count() {
        return count;
    }

    int rows() {
        return rows;
    }

    int freeRows() {
        return maxRows - rows;
    }

    /// Work of all rows; see [StepBudget].
    double units() {
        return units;
    }

    int sampledRows() {
        return sampled;
    }

    Sequence sequence(int index) {
        return sequences[index];
    }

    /// Index in its sequence of the first token of this run.
    int firstToken(int index) {
        return firstTokens[index];
    }

    int tokens(int index) {
        return rowEnds[index] - (index == 0 ? 0 : rowEnds[index - 1]);
    }

    int lastRow(int index) {
        return rowEnds[index] - 1;
    }

    boolean samples(int index) {
        return sampledIndexes[index] >= 0;
    }

    /// Which of the sampled rows the last row of this run is.
    int sampledIndex(int index) {
        return sampledIndexes[index];
    }
}
