package io.millrace.kernels;

import java.lang.foreign.MemorySegment;

/// One kind of cached row of one layer, spread over the pages of a pool: the row of slot `s` of a
/// sequence lies in its page `s / PAGE_TOKENS`, row `s % PAGE_TOKENS` of the section that starts
/// `sectionOffset` bytes into the page. In [KvFormat#INT8] the scales of the page's rows follow the
/// values: float32 `[PAGE_TOKENS, parts]`. The memory is borrowed.
///
/// @param pool           all pages, contiguous
/// @param pageBytes      bytes from one page to the next
/// @param sectionOffset  bytes from the start of a page to this section
/// @param rowElements    elements of one row
/// @param firstPart      elements of the row's first part; if fewer than `rowElements`, the rest is a
///                       second part with a scale of its own
/// @param format         their number format
public record PagedRows(
        MemorySegment pool, long pageBytes, long sectionOffset, int rowElements, int firstPart, KvFormat format) {
    /// Tokens of a page and of a block.
    public static final int PAGE_TOKENS = 64;

    public PagedRows {
        if (firstPart < 1 || firstPart > rowElements) {
            throw new IllegalArgumentException(
                    "first part of a cached row: " + firstPart + " elements (expected: 1.." + rowElements + ")");
        }
    }

    /// Rows of one part.
    public PagedRows(MemorySegment pool, long pageBytes, long sectionOffset, int rowElements, KvFormat format) {
        this(pool, pageBytes, sectionOffset, rowElements, rowElements, format);
    }

    /// Parts of a row, each with a scale in [KvFormat#INT8]: 1 or 2.
    public int parts() {
        return firstPart < rowElements ? 2 : 1;
    }

    /// Byte offset in the pool of the row of `slot`, given the page table of its sequence.
    public long rowOffset(int[] pages, int slot) {
        return pages[slot / PAGE_TOKENS] * pageBytes
                + sectionOffset
                + (long) (slot % PAGE_TOKENS) * rowElements * format.elementBytes();
    }

    /// Byte offset in the pool of the first scale of the row of `slot`; only in [KvFormat#INT8].
    public long scaleOffset(int[] pages, int slot) {
        return pages[slot / PAGE_TOKENS] * pageBytes
                + sectionOffset
                + (long) PAGE_TOKENS * rowElements
                + (long) (slot % PAGE_TOKENS) * parts() * Float.BYTES;
    }

    /// Bytes of a page's section.
    public int sectionBytes() {
        return sectionBytes(format, rowElements, parts());
    }

    /// Bytes of a page's section of rows.
    ///
    /// @param format       their format
    /// @param rowElements  elements of a row
    /// @param parts        parts of a row
    public static int sectionBytes(KvFormat format, int rowElements, int parts) {
        int rowBytes = Math.multiplyExact(rowElements, format.elementBytes());
        int scaleBytes = format == KvFormat.INT8 ? parts * Float.BYTES : 0;
        return Math.multiplyExact(PAGE_TOKENS, Math.addExact(rowBytes, scaleBytes));
    }
}
