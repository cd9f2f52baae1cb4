package io.millrace.kernels.nativecode;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.millrace.kernels.PagedRows;
import io.millrace.kernels.RowBatch;
import java.lang.foreign.MemorySegment;

/// The rows of a step in native memory: slots, and the page table of each row's sequence.
final class StepRows {
    private final Buffer slots;
    private final Buffer tables;
    private final Buffer pages;
    private int rows;
    private int firstSlot;

    StepRows(Buffers buffers) {
        slots = buffers.buffer();
        tables = buffers.buffer();
        pages = buffers.buffer();
    }

    /// Copies a batch.
    void fill(RowBatch batch) {
        rows = batch.rows();
        firstSlot = batch.firstSlot();
        MemorySegment slotMemory = slots.bytes((long) rows * Integer.BYTES);
        MemorySegment tableMemory = tables.bytes((long) rows * Long.BYTES);
        long length = 0;
        for (int row = 0; row < rows; row++) {
            if (endsSequence(batch, row)) {
                length += pagesOf(batch, row);
            }
        }
        MemorySegment pageMemory = pages.bytes(length * Integer.BYTES);
        long at = 0;
        int start = 0;
        for (int row = 0; row < rows; row++) {
            slotMemory.setAtIndex(JAVA_INT, row, batch.slot(row));
            if (endsSequence(batch, row)) {
                int count = pagesOf(batch, row);
                MemorySegment.copy(batch.pages(row), 0, pageMemory, JAVA_INT, at * Integer.BYTES, count);
                for (; start <= row; start++) {
                    tableMemory.setAtIndex(JAVA_LONG, start, pageMemory.address() + at * Integer.BYTES);
                }
                at += count;
            }
        }
    }

    private static boolean endsSequence(RowBatch batch, int row) {
        return row + 1 == batch.rows() || batch.sequence(row + 1) != batch.sequence(row);
    }

    private static int pagesOf(RowBatch batch, int row) {
        return batch.slot(row) / PagedRows.PAGE_TOKENS + 1;
    }

    /// First slot of the batch that holds a row.
    int firstSlot() {
        return firstSlot;
    }

    /// Writes `row_batch`.
    ///
    /// @param first  slot of rank 0 where every slot is selected
    void put(CallBlock block, int first) {
        block.put(rows).put(first).put(slots.memory()).put(tables.memory());
    }
}
