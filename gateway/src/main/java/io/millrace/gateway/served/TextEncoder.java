package io.millrace.gateway.served;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.text.MarkedText;
import io.millrace.rpc.MetricNames;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/// Tokenizes on few platform threads of its own. A long text is one native call of seconds: on a request's virtual
/// thread it would hold one of the few carriers all that time, and with them every other request. Long
/// texts have threads of their own, so that short ones do not wait for them.
public final class TextEncoder implements AutoCloseable {
    /// Characters of the longest text that counts as short.
    static final int SHORT_CHARACTERS = 256 << 10;

    private static final long CHECK_MILLIS = 250;
    private static final long IDLE_SECONDS = 10;
    private static final long RETRY_AFTER_MILLIS = 1000;

    private final Function<MarkedText, int[]> tokenizer;
    private final Duration maxWait;
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

    private static ThreadPoolExecutor pool(String kind, Settings settings, MeterRegistry meters) {
        ArrayBlockingQueue<Runnable> queue = new ArrayBlockingQueue<>(settings.maxWaiting());
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                settings.threads(),
                settings.threads(),
                IDLE_SECONDS,
                TimeUnit.SECONDS,
                queue,
                Thread.ofPlatform().daemon().name("tokenizer-" + kind + "-", 0).factory());
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

    @Override
    public void close() {
        shortTexts.shutdownNow();
        longTexts.shutdownNow();
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
