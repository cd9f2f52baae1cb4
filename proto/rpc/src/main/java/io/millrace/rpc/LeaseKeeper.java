package io.millrace.rpc;

import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/// Keeps a lease renewed until closed. Closing lets the lease run out, it does not release it.
public final class LeaseKeeper implements AutoCloseable {
    private final ScheduledFuture<?> renewals;

    LeaseKeeper(ScheduledExecutorService timer, long leaseMillis, Runnable renew) {
        long periodMillis = Math.max(1, leaseMillis / 3);
        this.renewals = timer.scheduleAtFixedRate(renew, periodMillis, periodMillis, TimeUnit.MILLISECONDS);
    }

    @Override
    public void close() {
        renewals.cancel(false);
    }
}
