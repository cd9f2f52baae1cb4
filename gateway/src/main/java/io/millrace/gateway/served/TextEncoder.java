package io.millrace.gateway.served;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.text.MarkedText;
import io.millrace.rpc.MetricNames;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Tokenizes on few platform threads of its own. A long text is one native call of seconds: on a request's virtual
/// thread it would hold one of the few carriers all that time, and with them every other request. Long
/// texts have threads of their own, so that short ones do not wait for them.
public final class TextEncoder implements AutoCloseable {
    /// Characters of the longest text that counts as short.
    static final int SHORT_CHARACTERS = 256 << 10;

    private static final long CHECK_MILLIS = 250;
    private static final long IDLE_SECONDS = 10;
    private static final long RETRY_AFTER_MILLIS = 1000;
    /// A piece of a text is one native call that nothing interrupts.
    private static final long CLOSE_MILLIS = 10_000;
    private static final Logger log = LoggerFactory.getLogger(TextEncoder.class);

    private final Function<MarkedText, int[]> tokenizer;
    private final Duration maxWait;
    /// Those that have not ended, and maybe some that have.
    private final Set<Thread> threads = ConcurrentHashMap.newKeySet();

    private final ThreadPoolExecutor shortTexts;
    private final ThreadPoolExecutor longTexts;
    private final Counter rejections;

    /// @param threads     for short texts, and as many for long ones
    /// @param maxWaiting  texts of each kind that wait for a thread
    /// @param maxWait     how long one waits before it is refused
    public record Settings(int threads, int maxWaiting, Duration maxWait) {}

    public TextEncoder(Function<MarkedText, int[]> tokenizer, Settings settings, MeterRegistry meters) {
        this.tokenizer = tokenizer;
        this.maxWait = settings.maxWait();
        this.shortTexts = pool("short", settings, meters);
        this.longTexts = pool("long", settings, meters);
        this.rejections = meters.counter(MetricNames.ADMISSION_REJECTIONS, "reason", "tokenizer_full");
    }

    private ThreadPoolExecutor pool(String kind, Settings settings, MeterRegistry meters) {
        ArrayBlockingQueue<Runnable> queue = new ArrayBlockingQueue<>(settings.maxWaiting());
        // A request's thread makes them, and they outlive the request: they are to inherit nothing of the web
        // application, least of all the class loader by which Tomcat tells the threads of one that ends.
        ThreadFactory factory = Thread.ofPlatform()
                .daemon()
                .inheritInheritableThreadLocals(false)
                .name("tokenizer-" + kind + "-", 0)
                .factory();
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                settings.threads(), settings.threads(), IDLE_SECONDS, TimeUnit.SECONDS, queue, task -> {
                    threads.removeIf(made -> made.getState() == Thread.State.TERMINATED);
                    Thread made = factory.newThread(task);
                    threads.add(made);
                    return made;
                });
        pool.allowCoreThreadTimeOut(true);
        meters.gauge(MetricNames.GATEWAY_TEXTS_WAITING, Tags.of("length", kind), queue, ArrayBlockingQueue::size);
        return pool;
    }

    /// Ids of a text.
    ///
    /// @param abandoned  asked from time to time: true ends the wait, and nothing is begun any more
    /// @throws MillraceException  `queue_full`, or `cancelled` when abandoned
    public int[] encode(MarkedText text, BooleanSupplier abandoned) {
        int length =
                text.spans().stream().mapToInt(span -> span.text().length()).reduce(0, Math::addExact);
        ThreadPoolExecutor pool = length <= SHORT_CHARACTERS ? shortTexts : longTexts;
        Job job = new Job(() -> tokenizer.apply(text));
        try {
            pool.execute(job);
        } catch (RejectedExecutionException _) {
            throw full();
        }
        try {
            return await(job, abandoned);
        } finally {
            // The tokenizer sees the interrupt between two pieces of a long text.
            if (job.cancel(true)) {
                pool.remove(job);
            }
        }
    }

    private int[] await(Job job, BooleanSupplier abandoned) {
        long start = System.nanoTime();
        while (true) {
            try {
                return job.get(CHECK_MILLIS, TimeUnit.MILLISECONDS);
            } catch (TimeoutException _) {
                if (abandoned.getAsBoolean()) {
                    throw new MillraceException(ErrorCode.CANCELLED, "The client hung up.");
                }
                if (!job.begun && System.nanoTime() - start > maxWait.toNanos()) {
                    throw full();
                }
            } catch (ExecutionException e) {
                throw failure(e.getCause());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new MillraceException(ErrorCode.SHUTTING_DOWN, "The gateway is shutting down.", e);
            }
        }
    }

    private static RuntimeException failure(@Nullable Throwable cause) {
        if (cause instanceof RuntimeException failure) {
            return failure;
        }
        return new IllegalStateException("tokenizer: failed", cause);
    }

    private MillraceException full() {
        rejections.increment();
        return new MillraceException(
                ErrorCode.QUEUE_FULL,
                "Too many texts wait to be tokenized; try again later.",
                null,
                RETRY_AFTER_MILLIS,
                null);
    }

    /// Returns when the threads have ended: the tokenizer and the web server end after this.
    @Override
    public void close() {
        shortTexts.shutdownNow();
        longTexts.shutdownNow();
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(CLOSE_MILLIS);
        try {
            for (Thread thread : threads) {
                // A thread of a pool that has ended may live for a moment longer; one that it did not start never will.
                if (thread.getState() != Thread.State.NEW
                        && !thread.join(Duration.ofNanos(Math.max(1, end - System.nanoTime())))) {
                    log.warn("a text was still being tokenized {} ms after the end was asked for", CLOSE_MILLIS);
                }
            }
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
        }
    }

    private static final class Job extends FutureTask<int[]> {
        private volatile boolean begun;

        Job(Callable<int[]> work) {
            super(work);
        }

        @Override
        public void run() {
            begun = true;
            super.run();
        }
    }
}
