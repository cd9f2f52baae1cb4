package io.millrace.kvcache;

import io.millrace.kvcache.store.BlockStore;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/// Ends leases that ran out while nobody calls.
final class LeaseSweeper implements AutoCloseable {
    private final BlockStore store;
    private final long intervalMillis;
    private @Nullable ScheduledExecutorService timer;

    LeaseSweeper(BlockStore store, long intervalMillis) {
        this.store = store;
        this.intervalMillis = intervalMillis;
    }

    synchronized void start() {
        if (timer == null) {
            timer = Executors.newSingleThreadScheduledExecutor(
                    Thread.ofVirtual().name("lease-sweeper").factory());
            var _ = timer.scheduleWithFixedDelay(
                    store::expireLeases, intervalMillis, intervalMillis, TimeUnit.MILLISECONDS);
        }
    }

    @Override
    public synchronized void close() {
        ScheduledExecutorService running = timer;
        if (running != null) {
            running.shutdownNow();
            timer = null;
        }
    }
}
