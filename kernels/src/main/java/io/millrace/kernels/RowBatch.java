package io.millrace.kernels;

import java.util.Arrays;

/// The query rows of one step: tokens of one or more sequences, each with its slot in its sequence's cache. Filled by
/// the
/// engine before each step, read by the operators; not thread-safe. A row of slot `s` sees the slots `firstSlot..s` of
/// its
/// sequence, its own included. Rows of a sequence stand in ascending slot order.
public final class RowBatch {
    private final int[] slots;
    private final int[] sequences;
    private final int[][] pageTables;
    private int firstSlot;
    private int rows;
    private int sequenceCount;

    /// @param maxRows       most rows of a step
    /// @param maxSequences  most sequences of a step
    public RowBatch(int maxRows, int maxSequences) {
        this.slots = new int[maxRows];
        this.sequences = new int[maxRows];
        this.pageTables = new int[maxSequences][];
    }

    /// Empties the batch.
    ///
    /// @param firstSlotOfAll  the first slot that holds a row: 0, and 1 for a multi-token-prediction layer
    public void clear(int firstSlotOfAll) {
        this.firstSlot = firstSlotOfAll;
        this.rows = 0;
        Arrays.fill(pageTables, 0, sequenceCount, new int[0]);
        this.sequenceCount = 0;
    }

    /// Adds a sequence and returns its number in this batch.
    ///
    /// @param pages  pool page of each block of 64 slots; must cover every slot up to the sequence's last row
    public int addSequence(int[] pages) {
        pageTables[sequenceCount] = pages;
        return sequenceCount++;
    }

    /// Adds a row.
    public void addRow(int sequence, int slot) {
        if (slot < firstSlot || sequence < 0 || sequence >= sequenceCount) {
            throw new IllegalArgumentException("row: sequence " + sequence + ", slot " + slot
                    + " (expected: sequence below " + sequenceCount + ", slot from " + firstSlot + ")");
        }
        sequences[rows] = sequence;
        slots[rows++] = slot;
    }

    public int rows() {
        return rows;
    }

    public int maxRows() {
        return slots.length;
    }

    public int sequenceCount() {
        return sequenceCount;
    }

    public int firstSlot() {
        return firstSlot;
    }

    public int slot(int row) {
        return slots[row];
    }

    /// RoPE position of a row: its slot counted from `firstSlot`.
    public int position(int row) {
        return slots[row] - firstSlot;
    }

    /// How many slots the row sees.
    public int visible(int row) {
        return slots[row] - firstSlot + 1;
    }

    public int sequence(int row) {
        return sequences[row];
    }

    /// Page table of the row's sequence. Borrowed; not to be changed.
    public int[] pages(int row) {
        return pageTables[sequences[row]];
    }
}
