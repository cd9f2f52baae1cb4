package io.millrace.rpc.generate;

import io.grpc.Context;

/// Stops the work for a call when its caller hangs up or runs out of time. Opened on the thread that
/// works: until told otherwise, that thread is interrupted.
public final class CallerWatch implements AutoCloseable {
    private final Context context;
    private final Context.CancellationListener listener;
    private Runnable stop;
    private boolean closed;

    private CallerWatch(Context context) {
        this.context = context;
        this.stop = Thread.currentThread()::interrupt;
        this.listener = ignored -> stop();
    }

    /// Watches the current gRPC context.
    public static CallerWatch open() {
        CallerWatch watch = new CallerWatch(Context.current());
        watch.context.addListener(watch.listener, Runnable::run);
        return watch;
    }

    /// How to stop from now on; done at once if the caller is gone already.
    public synchronized void stopBy(Runnable how) {
        stop = how;
        if (context.isCancelled()) {
            how.run();
        }
    }

    private synchronized void stop() {
        if (!closed) {
            stop.run();
        }
    }

    @Override
    public void close() {
        context.removeListener(listener);
        synchronized (this) {
            closed = true;
        }
    }
}
