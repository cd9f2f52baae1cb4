package io.millrace.kvcache;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.kvcache.store.StoreMeters;
import java.util.concurrent.atomic.AtomicInteger;

/// Counts open streams of a kind and refuses one too many.
final class StreamLimit {
    private final String name;
    private final int max;
    private final StoreMeters meters;
    private final AtomicInteger open = new AtomicInteger();

    StreamLimit(String name, int max, StoreMeters meters) {
        this.name = name;
        this.max = max;
        this.meters = meters;
    }

    /// @throws MillraceException CACHE_FULL at the limit
    void acquire() {
        if (open.incrementAndGet() > max) {
            open.decrementAndGet();
            meters.limitReached(name);
            throw new MillraceException(ErrorCode.CACHE_FULL, name + ": " + max + " are open (limit reached)");
        }
    }

    void release() {
        open.decrementAndGet();
    }

    int open() {
        return open.get();
    }
}
