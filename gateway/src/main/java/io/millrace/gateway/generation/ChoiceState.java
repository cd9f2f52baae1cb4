package io.millrace.gateway.generation;

import io.grpc.Context;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.router.LeaseReleaser;
import io.millrace.proto.v1.GenerateRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/// Where one choice stands: the attempt, the tokens so far, the leases still open, the time left.
final class ChoiceState {
    private final ChoiceTask task;
    private final LeaseReleaser releaser;
    private final long startNanos = System.nanoTime();
    private final long timeoutNanos;
    private final TokenCursor cursor = new TokenCursor();
    private final List<String> openLeases = new ArrayList<>();
    private int attempt;

    ChoiceState(ChoiceTask task, LeaseReleaser releaser, Duration timeout) {
        this.task = task;
        this.releaser = releaser;
        this.timeoutNanos = timeout.toNanos();
    }

    TokenCursor cursor() {
        return cursor;
    }

    int attempt() {
        return attempt;
    }

    void nextAttempt() {
        attempt++;
    }

    String leaseId() {
        return task.request().getRequestId() + "/" + task.index() + "/" + attempt;
    }

    /// The request as the services get it for the current attempt.
    GenerateRequest request() {
        return task.request().toBuilder()
                .clearGeneratedIds()
                .addAllGeneratedIds(cursor.ids())
                .setAttempt(attempt)
                .setLeaseId(leaseId())
                .build();
    }

    /// The current attempt's lease may exist from here on.
    void leaseOpened() {
        openLeases.add(leaseId());
    }

    /// Decode has ended, and with it its lease.
    void leasesEnded() {
        openLeases.clear();
    }

    void releaseLeases() {
        openLeases.forEach(releaser::release);
        openLeases.clear();
    }

    long elapsedNanos() {
        return System.nanoTime() - startNanos;
    }

    /// Milliseconds left for the next call.
    ///
    /// @throws MillraceException  `deadline_exceeded` when there are none
    long millisLeft() {
        long left = TimeUnit.NANOSECONDS.toMillis(timeoutNanos - elapsedNanos());
        if (left <= 0) {
            throw new MillraceException(ErrorCode.DEADLINE_EXCEEDED, "The request took longer than its time limit.");
        }
        return left;
    }

    /// @throws MillraceException  `cancelled` once nobody wants the answer any more
    static void requireWanted() {
        if (Context.current().isCancelled()) {
            throw cancelled();
        }
    }

    /// Waits before another try; ends at once when the request is cancelled.
    static void pause(long millis) {
        CountDownLatch cancelled = new CountDownLatch(1);
        Context context = Context.current();
        Context.CancellationListener listener = _ -> cancelled.countDown();
        context.addListener(listener, Runnable::run);
        try {
            if (cancelled.await(millis, TimeUnit.MILLISECONDS)) {
                throw cancelled();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw cancelled();
        } finally {
            context.removeListener(listener);
        }
    }

    static MillraceException cancelled() {
        return new MillraceException(ErrorCode.CANCELLED, "The request was cancelled.");
    }
}
