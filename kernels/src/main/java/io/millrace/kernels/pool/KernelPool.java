package io.millrace.kernels.pool;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;
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
/// Each thread has a share of the chunks of a run, neighbours in order: whoever reads memory goes on where it was. It
/// claims a quarter of what is left of them at a time, as a claim waits until all reads before it have ended, and so
/// fewer and fewer towards the end. A thread that is done takes the last chunks of other shares one by one. Who takes
/// which chunk is left to chance; nothing may depend on it.
///
/// The state of a share is one word, `run number | end | next chunk`: claiming chunks is one compare-and-set that
/// fails if the run has changed, so a worker that wakes late can neither take a chunk twice nor mix up two runs.
public final class KernelPool implements AutoCloseable {
    // Shorter than waking a thread takes, and longer than what the caller does alone between two runs of a step.
    private static final long IDLE_NANOS = 100_000;
    private static final long WAIT_NANOS = 30_000;
    private static final int SPINS_PER_LOOK = 32; // at the clock
    private static final int YIELDS = 50;
    private static final long PARK_NANOS = 100_000;
    private static final int MAX_CHUNKS = 0xffff;
    // Of the rest of its share a thread claims one of so many parts.
    private static final int CLAIM_PART = 4;
    // Shares are two cache lines apart, as processors fetch lines in pairs.
    private static final int SHARE_STEP = 16;
    private static final PoolTask NOTHING = (chunk, worker) -> {};

    private final int threads;
    private final AtomicInteger runs = new AtomicInteger();
    private final AtomicLongArray shares;
    private final AtomicInteger missing = new AtomicInteger();
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
        this.shares = new AtomicLongArray(threads * SHARE_STEP);
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
        missing.set(chunks);
        int run = runs.get() + 1;
        for (int i = 0; i < threads; i++) {
            shares.set(i * SHARE_STEP, share(run, shareStart(chunks, i), shareStart(chunks, i + 1)));
        }
        runs.set(run);
        int wanted = chunks - 1;
        for (int i = 0; i < workers.length && wanted > 0; i++, wanted--) {
            if (parked.get(i + 1) != 0) {
                LockSupport.unpark(workers[i]);
            }
        }
        drain(0);
        await();
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
    private void await() {
        long started = System.nanoTime();
        do {
            for (int i = 0; i < SPINS_PER_LOOK; i++) {
                if (missing.get() == 0) {
                    return;
                }
                Thread.onSpinWait();
            }
        } while (System.nanoTime() - started < WAIT_NANOS);
        for (int i = 0; i < YIELDS && missing.get() != 0; i++) {
            Thread.yield();
        }
        waiter.set(Thread.currentThread());
        while (missing.get() != 0) {
            LockSupport.parkNanos(this, PARK_NANOS);
        }
        waiter.set(null);
    }

    private void serve(int worker) {
        int seen = runs.get() - 1;
        while (!closed) {
            if (!begins(seen)) {
                parked.set(worker, 1);
                if (runs.get() == seen && !closed) {
                    LockSupport.park(this);
                }
                parked.set(worker, 0);
            }
            int run = runs.get();
            if (run != seen) {
                seen = run;
                drain(worker);
            }
        }
    }

    // Spins until another run than the one seen begins; false if none does for so long that parking is better.
    private boolean begins(int seen) {
        long started = System.nanoTime();
        do {
            for (int i = 0; i < SPINS_PER_LOOK; i++) {
                if (runs.get() != seen || closed) {
                    return true;
                }
                Thread.onSpinWait();
            }
        } while (System.nanoTime() - started < IDLE_NANOS);
        return false;
    }

    /// Takes chunks until none is left: of its own share from the front, then the last of others'.
    private void drain(int worker) {
        boolean own = true;
        int owner = worker;
        for (int i = 0; i < threads; ) {
            long share = shares.get(owner * SHARE_STEP);
            int next = next(share);
            int end = end(share);
            if (next >= end) {
                i++;
                own = false;
                owner = (worker + i) % threads;
                continue;
            }
            // The share holds an unclaimed chunk, and no other run begins before it is claimed: this is its task.
            PoolTask work = task;
            int chunks = own ? Math.max(1, (end - next) / CLAIM_PART) : 1;
            int first = firstChunk + (own ? next : end - 1);
            long claimed = own ? share + chunks : share(run(share), next, end - 1);
            if (shares.compareAndSet(owner * SHARE_STEP, share, claimed)) {
                run(work, first, chunks, worker);
            }
        }
    }

    private void run(PoolTask work, int first, int chunks, int worker) {
        for (int chunk = first; chunk < first + chunks; chunk++) {
            try {
                work.run(chunk, worker);
            } catch (RuntimeException | Error thrown) {
                failure.compareAndSet(null, thrown);
            }
        }
        if (missing.addAndGet(-chunks) == 0) {
            Thread waiting = waiter.get();
            if (waiting != null) {
                LockSupport.unpark(waiting);
            }
        }
    }

    private int shareStart(int chunks, int worker) {
        return (chunks * worker + threads - 1) / threads;
    }

    private static long share(int run, int next, int end) {
        return (long) run << 32 | (long) end << 16 | next;
    }

    private static int run(long share) {
        return (int) (share >>> 32);
    }

    private static int next(long share) {
        return (int) (share & MAX_CHUNKS);
    }

    private static int end(long share) {
        return (int) (share >>> 16 & MAX_CHUNKS);
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
