package io.millrace.kernels;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;

/// The slots each query row attends to: every visible one, or the `topK` best by index score, ascending
/// by slot. Reused between steps and, by layers that share an indexer, between layers; not thread-safe
/// across writers of one row.
public final class Selection {
    private final int topK;
    private final int[] slots;
    private final int[] counts;
    private final boolean[] dense;
    private int firstSlot;

    /// @param maxRows  most rows of a step
    /// @param topK     most selected slots of a row that does not see everything
    public Selection(int maxRows, int topK) {
        this.topK = topK;
        this.slots = new int[Math.multiplyExact(maxRows, topK)];
        this.counts = new int[maxRows];
        this.dense = new boolean[maxRows];
    }

    public int topK() {
        return topK;
    }

    /// Sets the first slot that holds a row; before a step's rows are written.
    public void firstSlot(int slot) {
        this.firstSlot = slot;
    }

    /// The first slot that holds a row.
    public int firstSlot() {
        return firstSlot;
    }

    /// Selects every visible slot for a row.
    public void selectAll(int row, int visible) {
        dense[row] = true;
        counts[row] = visible;
    }

    /// Selects `count` slots for a row: the first `count` of `ascendingSlots`.
    public void select(int row, int[] ascendingSlots, int count) {
        if (count > topK) {
            throw new IllegalArgumentException("selected slots: " + count + " (expected: at most topK=" + topK + ")");
        }
        dense[row] = false;
        counts[row] = count;
        System.arraycopy(ascendingSlots, 0, slots, row * topK, count);
    }

    /// The same from int32 values in native memory.
    ///
    /// @param byteOffset  of the row's first slot in `ascendingSlots`
    public void select(int row, MemorySegment ascendingSlots, long byteOffset, int count) {
        if (count > topK) {
            throw new IllegalArgumentException("selected slots: " + count + " (expected: at most topK=" + topK + ")");
        }
        dense[row] = false;
        counts[row] = count;
        MemorySegment.copy(ascendingSlots, JAVA_INT, byteOffset, slots, row * topK, count);
    }

    /// Copies a row's selected slots to native memory as int32; not for a row that selects all.
    public void copySlots(int row, MemorySegment target, long byteOffset) {
        MemorySegment.copy(slots, row * topK, target, JAVA_INT, byteOffset, counts[row]);
    }

    /// How many slots the row attends to.
    public int count(int row) {
        return counts[row];
    }

    public boolean selectsAll(int row) {
        return dense[row];
    }

    /// The slot at a rank of the row's ascending list.
    public int slot(int row, int rank) {
        return dense[row] ? firstSlot + rank : slots[row * topK + rank];
    }
}
