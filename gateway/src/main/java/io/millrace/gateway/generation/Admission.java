package io.millrace.gateway.generation;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.rpc.MetricNames;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/// Bounds the work in the gateway: so many choices run, so many requests wait for their turn, each so
/// long. All others
/// are told to come again.
public final class Admission {
    private static final long CHECK_MILLIS = 250;

    private final Semaphore slots;
    private final AtomicInteger waiting = new AtomicInteger();
    private final int maxWaiting;
    private final Duration maxWait;
    private final Counter rejections;

    /// @param maxRunning  choices
    /// @param maxWaiting  requests
    public Admission(int maxRunning, int maxWaiting, Duration maxWait, MeterRegistry meters) {
        this.slots = new Semaphore(maxRunning, true);
        this.maxWaiting = maxWaiting;
        this.maxWait = maxWait;
        this.rejections = meters.counter(MetricNames.ADMISSION_REJECTIONS, "reason", "queue_full");
        meters.gauge(MetricNames.REQUESTS_WAITING, waiting);
        meters.gauge(MetricNames.REQUESTS_RUNNING, slots, free -> maxRunning - free.availablePermits());
    }

    /// Takes slots, waiting for them if it must.
    ///
    /// @param abandoned  asked while waiting: true ends the wait
    /// @throws MillraceException  `queue_full`, or `cancelled` when abandoned
    public void acquire(int choices, BooleanSupplier abandoned) {
        if (slots.tryAcquire(choices)) {
            return;
        }
        if (waiting.incrementAndGet() > maxWaiting) {
            waiting.decrementAndGet();
            throw full();
        }
        try {
            long start = System.nanoTime();
            while (!slots.tryAcquire(choices, CHECK_MILLIS, TimeUnit.MILLISECONDS)) {
                if (abandoned.getAsBoolean()) {
                    throw ChoiceState.cancelled();
                }
                if (System.nanoTime() - start > maxWait.toNanos()) {
                    throw full();
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw ChoiceState.cancelled();
        } finally {
            waiting.decrementAndGet();
        }
    }

    public void release(int choices) {
        slots.release(choices);
    }

    private MillraceException full() {
        rejections.increment();
        return new MillraceException(
                ErrorCode.QUEUE_FULL, "The request queue is full; try again later.", null, 1000, null);
    }
}
