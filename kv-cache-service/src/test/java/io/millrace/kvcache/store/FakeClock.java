package io.millrace.kvcache.store;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/// Time that a test moves. Starts close to overflow, as `System.nanoTime` may.
public final class FakeClock implements MonotonicClock {
    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5_000_000_000L);

    @Override
    public long nanoTime() {
        return nanos.get();
    }

    public void advanceMillis(long millis) {
        nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
    }
}
