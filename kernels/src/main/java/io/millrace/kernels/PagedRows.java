package io.millrace.kernels;

import java.lang.foreign.MemorySegment;

/// One kind of cached row of one layer, spread over the pages of a pool: the row of slot `s` of a sequence lies in its
/// page `s / PAGE_TOKENS`, row `s % PAGE_TOKENS` of the section that starts `sectionOffset` bytes into the page.
/// The memory is borrowed.
///
/// @param pool           all pages, contiguous
/// @param pageBytes      bytes from one page to the next
/// @param sectionOffset  bytes from the start of a page to this section
/// @param rowElements    elements of one row
/// @param format         their number format
public record PagedRows(MemorySegment pool, long pageBytes, long sectionOffset, int rowElements, KvFormat format) {
    /// Tokens of a page and of a block.
    public static final int PAGE_TOKENS = 64;

    /// Byte offset in the pool of the row of `slot`, given the page table of its sequence.
    public long rowOffset(int[] pages, int slot) {
        return pages[slot / PAGE_TOKENS] * pageBytes
                + sectionOffset
                + (long) (slot % PAGE_TOKENS) * rowElements * format.elementBytes();
    }
}
