package io.millrace.engine.kv;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.memory.MemoryLimits;
import io.millrace.kernels.nativecode.LargePages;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// A fixed number of KV pages in one 64-byte aligned segment, and the list of free ones. A page is
/// zeroed when it is allocated, so that rows nobody wrote are zeros: exported bytes depend on the
/// tokens alone and never carry another sequence's data.
///
/// The list of free pages is not thread-safe: its owner, the engine loop, allocates and frees. The
/// bytes of an allocated page may be written by the thread that has been given the page.
public final class PagePool implements AutoCloseable {
    private static final int ALIGNMENT = 64;

    private final KvLayout layout;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory;
    private final int[] free;
    private final boolean[] allocated;
    private int freeCount;
    private boolean closed;

    private PagePool(KvLayout layout, int pages) {
        this.layout = layout;
        this.memory = LargePages.allocate(Math.multiplyExact(layout.pageBytes(), (long) pages), ALIGNMENT, arena);
        this.free = new int[pages];
        this.allocated = new boolean[pages];
        this.freeCount = pages;
        for (int i = 0; i < pages; i++) {
            free[i] = pages - 1 - i;
        }
    }

    /// Takes the memory of a pool.
    ///
    /// @param layout  what a page holds
    /// @param pages   how many pages
    /// @throws MillraceException if machine or container can never hold them
    public static PagePool create(KvLayout layout, int pages) {
        if (pages < 1) {
            throw new IllegalArgumentException("KV pages: " + pages + " (expected: at least 1)");
        }
        requireMemory(layout, pages, "a KV pool", 1);
        try {
            return new PagePool(layout, pages);
        } catch (OutOfMemoryError e) {
            throw new MillraceException(
                    ErrorCode.INTERNAL,
                    "KV pool: " + layout.pageBytes() + " bytes a page times " + pages
                            + " pages do not fit in memory (expected: a smaller millrace.kv.pool-tokens)",
                    e);
        }
    }

    /// Looks whether machine or container can ever hold pools that one process is to take.
    ///
    /// @param layout  what a page holds
    /// @param pages   how many pages each pool has
    /// @param what    the pools in words, e.g. `a KV pool`
    /// @param pools   how many
    /// @throws MillraceException if they cannot
    public static void requireMemory(KvLayout layout, int pages, String what, int pools) {
        long bytes = Math.multiplyExact(Math.multiplyExact(layout.pageBytes(), (long) pages), (long) pools);
        MemoryLimits.ofThisProcess()
                .flatMap(limits -> limits.refusal(what, bytes))
                .ifPresent(reason -> {
                    long tokens = (long) pages * KvLayout.PAGE_TOKENS;
                    throw new MillraceException(
                            ErrorCode.INVALID_REQUEST, "millrace.kv.pool-tokens: " + tokens + " tokens make " + reason);
                });
    }

    public KvLayout layout() {
        return layout;
    }

    public int pages() {
        return free.length;
    }

    public int freePages() {
        return freeCount;
    }

    /// Pages needed for so many tokens.
    public static int pagesFor(int tokens) {
        return Math.ceilDiv(tokens, KvLayout.PAGE_TOKENS);
    }

    /// Takes a free page and zeroes it. Ask [#freePages()] first: an empty pool is an error here.
    public int allocate() {
        if (freeCount == 0) {
            throw new IllegalStateException("KV pages: none of " + free.length + " is free (expected: at least 1)");
        }
        int page = free[--freeCount];
        allocated[page] = true;
        memory.asSlice(page * layout.pageBytes(), layout.pageBytes()).fill((byte) 0);
        return page;
    }

    /// Gives a page back.
    public void free(int page) {
        checkAllocated(page);
        allocated[page] = false;
        free[freeCount++] = page;
    }

    private void checkAllocated(int page) {
        if (page < 0 || page >= allocated.length || !allocated[page]) {
            throw new IllegalArgumentException(
                    "KV page: " + page + " (expected: an allocated one of 0.." + (allocated.length - 1) + ")");
        }
    }

    /// All pages, contiguous. Borrowed.
    public MemorySegment memory() {
        return memory;
    }

    /// One section of an allocated page, exactly its payload. Borrowed: valid until the page is freed.
    public MemorySegment section(int page, int section) {
        checkAllocated(page);
        return memory.asSlice(page * layout.pageBytes() + layout.sectionOffset(section), layout.sectionBytes(section));
    }

    /// The boundary state of an allocated, full page: post-final-norm state of its last token, float32
    /// `[hiddenSize]`. Borrowed.
    public MemorySegment boundaryState(int page) {
        return section(page, layout.boundarySection());
    }

    /// Releases the memory. Idempotent; no page may be in use.
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            arena.close();
        }
    }
}
