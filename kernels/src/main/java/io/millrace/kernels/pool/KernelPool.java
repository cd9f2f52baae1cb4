package io.millrace.kernels.pool;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/// A fixed set of platform threads that run the chunks of one task at a time; the caller takes part.
///
/// A decode step hands out work about a hundred times, every few microseconds: that is shorter than waking a thread.
/// So idle workers first spin for a bounded time and only then park; the caller wakes parked ones. The caller, too,
/// spins only so long for the last chunks, then yields and parks: with more busy threads than cores, whoever holds a
/// chunk must get to run.
///
/// All state of a run is one word, `run number | chunks | next chunk`: claiming a chunk is one compare-and-set that
/// fails if the run has changed, so a worker that wakes late can neither take a chunk twice nor mix up two runs.
/// Which thread takes which chunk is left to chance; nothing may depend on it.
public final class KernelPool implements AutoCloseable {
    private static final int SPINS = 2000;
    private static final int YIELDS = 50;
    private static final long PARK_NANOS = 100_000;
    private static final int MAX_CHUNKS = 0xffff;
    private static final PoolTask NOTHING = (chunk, worker) -> {};

    private final int threads;
    private final AtomicLong ticket = new AtomicLong();
    private final AtomicInteger done = new AtomicInteger();
    private final AtomicBoolean busy = new AtomicBoolean();
    private final AtomicIntegerArray parked;
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private final AtomicReference<@Nullable Thread> waiter = new AtomicReference<>();
    private Thread[] workers = new Thread[0];
    private PoolTask task = NOTHING;
    private int firstChunk;
    private volatile boolean closed;

    /// @param threads  threads that compute, the caller's included
    public KernelPool(int threads) {
        if (threads < 1 || threads > 1024) {
            throw new IllegalArgumentException("kernel threads: " + threads + " (expected: 1..1024)");
        }
        this.threads = threads;
        this.parked = new AtomicIntegerArray(threads);
    }

    /// Starts the threads. Idempotent.
    public synchronized void start() {
        if (closed) {
            throw new IllegalStateException("kernel pool is closed");
        }
        if (workers.length == threads - 1) {
            return;
        }
        Thread[] started = new Thread[threads - 1];
        for (int i = 0; i < started.length; i++) {
            int worker = i + 1;
            started[i] = Thread.ofPlatform()
                    .daemon(true)
                    .name("millrace-kernel-" + worker)
                    .start(() -> serve(worker));
        }
        workers = started;
    }

    /// Threads that compute, the caller's included: worker numbers are below it.
    public int threads() {
        return threads;
    }

    /// Runs every chunk of a task and returns when all are done. One run at a time.
    ///
    /// @throws IllegalStateException if another thread is inside `run`, or the pool is closed
    /// @throws RuntimeException the first exception of a chunk, after all chunks ended
    public void run(PoolTask work, int chunks) {
        if (!busy.compareAndSet(false, true)) {
            throw new IllegalStateException("kernel pool: entered by two threads (expected: one call at a time)");
        }
        try {
            if (closed) {
                throw new IllegalStateException("kernel pool is closed");
            }
            if (chunks <= 1 || workers.length == 0) {
                for (int chunk = 0; chunk < chunks; chunk++) {
                    work.run(chunk, 0);
                }
                return;
            }
            for (int from = 0; from < chunks; from += MAX_CHUNKS) {
                spread(work, from, Math.min(MAX_CHUNKS, chunks - from));
            }
        } finally {
            task = NOTHING;
            busy.set(false);
        }
    }

    private void spread(PoolTask work, int from, int chunks) {
        task = work;
        firstChunk = from;
        done.set(0);
        long run = (ticket.get() >>> 32) + 1;
        ticket.set(run << 32 | (long) chunks << 16);
        int wanted = chunks - 1;
        for (int i = 0; i < workers.length && wanted > 0; i++, wanted--) {
            if (parked.get(i + 1) != 0) {
                LockSupport.unpark(workers[i]);
            }
        }
        drain(0);
        await(chunks);
        Throwable thrown = failure.getAndSet(null);
        if (thrown instanceof Error error) {
            throw error;
        }
        if (thrown instanceof RuntimeException exception) {
            throw exception;
        }
    }

    // Yielding is a hint that makes a busy machine smoother; parking below is what guarantees progress.
    @SuppressWarnings("ThreadPriorityCheck")
    private void await(int chunks) {
        for (int i = 0; i < SPINS; i++) {
            if (done.get() == chunks) {
                return;
            }
            Thread.onSpinWait();
        }
        for (int i = 0; i < YIELDS && done.get() != chunks; i++) {
            Thread.yield();
        }
        waiter.set(Thread.currentThread());
        while (done.get() != chunks) {
            LockSupport.parkNanos(this, PARK_NANOS);
        }
        waiter.set(null);
    }

    private void serve(int worker) {
        int spins = 0;
        while (!closed) {
            if (hasWork()) {
                drain(worker);
                spins = 0;
            } else if (++spins < SPINS) {
                Thread.onSpinWait();
            } else {
                parked.set(worker, 1);
                if (!hasWork() && !closed) {
                    LockSupport.park(this);
                }
                parked.set(worker, 0);
                spins = 0;
            }
        }
    }

    private boolean hasWork() {
        long t = ticket.get();
        return (t & MAX_CHUNKS) < (t >>> 16 & MAX_CHUNKS);
    }

    private void drain(int worker) {
        while (true) {
            long t = ticket.get();
            int next = (int) (t & MAX_CHUNKS);
            int chunks = (int) (t >>> 16 & MAX_CHUNKS);
            if (next >= chunks) {
                return;
            }
            PoolTask work = task;
            int chunk = firstChunk + next;
            if (!ticket.compareAndSet(t, t + 1)) {
                continue;
            }
            try {
                work.run(chunk, worker);
            } catch (RuntimeException | Error thrown) {
                failure.compareAndSet(null, thrown);
            }
            if (done.incrementAndGet() == chunks) {
                Thread waiting = waiter.get();
                if (waiting != null) {
                    LockSupport.unpark(waiting);
                }
            }
        }
    }

    /// Ends the threads. Idempotent.
    @Override
    public synchronized void close() {
        closed = true;
        boolean interrupted = false;
        for (Thread worker : workers) {
            LockSupport.unpark(worker);
            while (worker.isAlive()) {
                try {
                    worker.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        workers = new Thread[0];
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
