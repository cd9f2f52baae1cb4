package io.millrace.engine.schedule;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.kv.KvLayout;
import io.millrace.engine.kv.PagePool;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;

/// Pages for the given tokens of a request, nobody else's until the sequence ends or the reservation is
/// closed. Its owner writes fetched sections straight into them from any thread, then starts the
/// sequence; without a start it must close.
public final class Reservation implements AutoCloseable {
    private static final int[] NO_PAGES = {};

    private final ReentrantLock lock = new ReentrantLock();
    private final CompletableFuture<int[]> admission = new CompletableFuture<>();
    private final EngineLoop loop;
    private final SequenceRequest request;
    private final PagePool pool;
    private final long arrivedNanos;
    private volatile long order;
    private volatile boolean numbered;
    private volatile long admittedNanos;
    private int[] pages = NO_PAGES;
    private boolean spent;
    private boolean revoked;

    Reservation(EngineLoop loop, SequenceRequest request, PagePool pool, long arrivedNanos) {
        this.loop = loop;
        this.request = request;
        this.pool = pool;
        this.arrivedNanos = arrivedNanos;
    }

    public SequenceRequest request() {
        return request;
    }

    /// Blocks that can be written, a partly filled one included.
    public int blocks() {
        return PagePool.pagesFor(request.givenTokens());
    }

    /// Writes one section of a block. Not after start or close.
    ///
    /// @param blockIndex  index in the sequence
    /// @param section     section of the layout
    /// @param bytes       exactly its payload
    /// @throws MillraceException  if the loop has ended, with the reason
    public void writeSection(int blockIndex, int section, MemorySegment bytes) {
        lock.lock();
        try {
            if (spent) {
                throw unusable("write into a reservation that is started or closed");
            }
            MemorySegment target = pool.section(pages[blockIndex], section);
            if (bytes.byteSize() != target.byteSize()) {
                throw new IllegalArgumentException("section " + section + " of block " + blockIndex + ": "
                        + bytes.byteSize() + " bytes (expected: " + target.byteSize() + ")");
            }
            target.copyFrom(bytes);
        } finally {
            lock.unlock();
        }
    }

    /// [#writeSection(int, int, MemorySegment)] from an array.
    public void writeSection(int blockIndex, int section, byte[] bytes) {
        writeSection(blockIndex, section, MemorySegment.ofArray(bytes));
    }

    /// Zeroes all pages: what was imported is not to be used. Not after start or close.
    public void erase() {
        lock.lock();
        try {
            if (spent) {
                throw unusable("erasing a reservation that is started or closed");
            }
            for (int page : pages) {
                for (int section = 0; section < pool.layout().sections(); section++) {
                    pool.section(page, section).fill((byte) 0);
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /// Starts the sequence; the pages are its own from now on.
    public SequenceHandle start(Handover handover, SequenceListener listener) {
        checkHandover(handover);
        if (!spend()) {
            throw unusable("a second start, or a start after close");
        }
        return loop.start(this, handover, listener);
    }

    private void checkHandover(Handover handover) {
        int imported = handover.importedTokens();
        int known = request.givenTokens() + (handover.nextToken() == null ? 0 : 1);
        if (imported >= known) {
            throw new IllegalArgumentException(
                    "imported tokens: " + imported + " (expected: at most " + (known - 1) + ", one is to be computed)");
        }
        if (imported % KvLayout.PAGE_TOKENS != 0 && handover.boundaryState().length == 0) {
            throw new IllegalArgumentException("imported tokens: " + imported
                    + " without a boundary state (expected: whole blocks, or the state of the last token)");
        }
        if (request.exportTail() && (handover.nextToken() != null || imported == request.givenTokens())) {
            throw new IllegalArgumentException("a tail to export after the given tokens are computed elsewhere");
        }
    }

    /// Frees the pages unless the sequence has started. Idempotent.
    @Override
    public void close() {
        if (spend()) {
            loop.free(this);
        }
    }

    private boolean spend() {
        lock.lock();
        try {
            boolean first = !spent;
            spent = true;
            return first;
        } finally {
            lock.unlock();
        }
    }

    /// Makes the pages unwritable; the loop has ended, and its reason is what the owner is told.
    void revoke() {
        lock.lock();
        try {
            revoked = !spent;
            spent = true;
        } finally {
            lock.unlock();
        }
    }

    private RuntimeException unusable(String misuse) {
        lock.lock();
        try {
            return revoked ? loop.ended() : new IllegalStateException(misuse);
        } finally {
            lock.unlock();
        }
    }

    CompletableFuture<int[]> admission() {
        return admission;
    }

    /// Gives the reservation its pages. False when its owner no longer waits: the pages stay with the
    /// caller.
    boolean admit(int[] granted, long nowNanos) {
        lock.lock();
        try {
            pages = granted;
            admittedNanos = nowNanos;
            if (admission.complete(granted)) {
                return true;
            }
            pages = NO_PAGES;
            return false;
        } finally {
            lock.unlock();
        }
    }

    int page(int blockIndex) {
        lock.lock();
        try {
            return pages[blockIndex];
        } finally {
            lock.unlock();
        }
    }

    int[] takePages() {
        lock.lock();
        try {
            int[] taken = pages;
            pages = NO_PAGES;
            return taken;
        } finally {
            lock.unlock();
        }
    }

    void number(long arrival) {
        order = arrival;
        numbered = true;
    }

    /// Whether the loop knows of it.
    boolean isNumbered() {
        return numbered;
    }

    long order() {
        return order;
    }

    long arrivedNanos() {
        return arrivedNanos;
    }

    long queueNanos() {
        return admittedNanos - arrivedNanos;
    }
}
