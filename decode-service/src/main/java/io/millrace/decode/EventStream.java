package io.millrace.decode;

import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.proto.v1.GenerateEvent;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/// One call's stream of events. A send waits until the caller takes bytes, for a bounded time.
final class EventStream {
    private static final long STALL_MILLIS = 30_000;

    private final ServerCallStreamObserver<GenerateEvent> out;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    /// To be made before the call's method returns.
    EventStream(ServerCallStreamObserver<GenerateEvent> out) {
        this.out = out;
        out.setOnReadyHandler(this::wake);
        out.setOnCancelHandler(this::wake);
    }

    private void wake() {
        lock.lock();
        try {
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /// @throws MillraceException `CANCELLED` if the caller is gone or takes nothing
    void send(GenerateEvent event) {
        lock.lock();
        try {
            long nanos = TimeUnit.MILLISECONDS.toNanos(STALL_MILLIS);
            while (!out.isReady() && !out.isCancelled() && nanos > 0) {
                nanos = changed.awaitNanos(nanos);
            }
            if (out.isCancelled() || nanos <= 0) {
                throw new MillraceException(ErrorCode.CANCELLED, "the caller takes no more tokens");
            }
            out.onNext(event);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MillraceException(ErrorCode.CANCELLED, "interrupted", e);
        } finally {
            lock.unlock();
        }
    }

    void complete() {
        if (!out.isCancelled()) {
            out.onCompleted();
        }
    }

    void fail(StatusRuntimeException status) {
        if (!out.isCancelled()) {
            out.onError(status);
        }
    }
}
