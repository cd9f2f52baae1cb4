package io.millrace.engine.model;

import java.util.Arrays;

/// The rows of one step: for each sequence a run of tokens in consecutive slots. Filled by the engine
/// loop before each step and reused; not thread-safe.
public final class StepInput {
    private static final float[] NO_STATE = {};
    private static final int[] NO_PAGES = {};

    private final int[] tokens;
    private final int[] rowEnds;
    private final int[] firstSlots;
    private final int[][] pages;
    private final float[][] statesBefore;
    private int rows;
    private int sequences;

    /// @param maxRows       most rows of a step
    /// @param maxSequences  most sequences of a step
    public StepInput(int maxRows, int maxSequences) {
        if (maxRows < 1 || maxSequences < 1) {
            throw new IllegalArgumentException(
                    "step limits: " + maxRows + " rows, " + maxSequences + " sequences (expected: at least 1 each)");
        }
        this.tokens = new int[maxRows];
        this.rowEnds = new int[maxSequences];
        this.firstSlots = new int[maxSequences];
        this.pages = new int[maxSequences][];
        this.statesBefore = new float[maxSequences][];
        Arrays.fill(pages, NO_PAGES);
        Arrays.fill(statesBefore, NO_STATE);
    }

    /// Empties the step.
    public void clear() {
        Arrays.fill(pages, 0, sequences, NO_PAGES);
        Arrays.fill(statesBefore, 0, sequences, NO_STATE);
        rows = 0;
        sequences = 0;
    }

    /// Starts the next sequence of the step; its rows follow by [#addToken(int)].
    ///
    /// @param pageTable    pool page of each block of 64 slots; must cover every slot up to the
    ///                     sequence's last row of this step. Borrowed until [#clear()]
    /// @param firstSlot    slot of the sequence's first row in this step; all slots before it are
    ///                     cached
    /// @param stateBefore  post-final-norm state of the token at `firstSlot - 1`, `[hiddenSize]`; not
    ///                     read (may be empty) when `firstSlot` is 0 or the model predicts one token
    ///                     only. Borrowed until the step is computed
    public void addSequence(int[] pageTable, int firstSlot, float[] stateBefore) {
        if (sequences == rowEnds.length) {
            throw new IllegalStateException(
                    "sequences of a step: " + (sequences + 1) + " (expected: at most " + rowEnds.length + ")");
        }
        if (firstSlot < 0) {
            throw new IllegalArgumentException("first slot: " + firstSlot + " (expected: 0 or more)");
        }
        pages[sequences] = pageTable;
        firstSlots[sequences] = firstSlot;
        statesBefore[sequences] = stateBefore;
        rowEnds[sequences++] = rows;
    }

    /// Appends a token to the sequence added last and returns its row number in this step.
    public int addToken(int token) {
        if (sequences == 0) {
            throw new IllegalStateException("token without a sequence (expected: addSequence first)");
        }
        if (rows == tokens.length) {
            throw new IllegalStateException(
                    "rows of a step: " + (rows + 1) + " (expected: at most " + tokens.length + ")");
        }
        tokens[rows++] = token;
        rowEnds[sequences - 1] = rows;
        return rows - 1;
    }

    public int rows() {
        return rows;
    }

    public int maxRows() {
        return tokens.length;
    }

    public int sequences() {
        return sequences;
    }

    public int maxSequences() {
        return rowEnds.length;
    }

    /// First row of a sequence.
    public int rowStart(int sequence) {
        return sequence == 0 ? 0 : rowEnds[sequence - 1];
    }

    /// Row after the last one of a sequence.
    public int rowEnd(int sequence) {
        return rowEnds[sequence];
    }

    int token(int row) {
        return tokens[row];
    }

    int firstSlot(int sequence) {
        return firstSlots[sequence];
    }

    int[] pages(int sequence) {
        return pages[sequence];
    }

    float[] stateBefore(int sequence) {
        return statesBefore[sequence];
    }
}
