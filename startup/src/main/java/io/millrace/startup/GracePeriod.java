package io.millrace.startup;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.ContextClosedEvent;

/// Tells what is under way to end a little before the grace period of a closing service is over, so that
/// callers hear the reason before their connections are cut.
public final class GracePeriod implements ApplicationListener<ContextClosedEvent>, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(GracePeriod.class);
    /// For the last words; half of the period if that is less.
    private static final Duration LAST_WORDS = Duration.ofSeconds(2);

    private final ApplicationContext application;
    private final Duration length;
    private final Runnable end;
    private final CountDownLatch closed = new CountDownLatch(1);
    private boolean begun;

    /// @param application  whose close begins the period
    /// @param length       after which connections are cut; negative: never
    /// @param end          ends what is under way; must not wait for it
    public GracePeriod(ApplicationContext application, Duration length, Runnable end) {
        this.application = application;
        this.length = length;
        this.end = end;
    }

    /// When what is under way is told to end, counted from the begin of the period.
    static Duration until(Duration length) {
        Duration half = length.dividedBy(2);
        return length.minus(half.compareTo(LAST_WORDS) < 0 ? half : LAST_WORDS);
    }

    @Override
    public synchronized void onApplicationEvent(ContextClosedEvent event) {
        if (event.getApplicationContext().equals(application) && !begun && !length.isNegative()) {
            begun = true;
            Thread.ofVirtual().name("grace-period").start(this::run);
        }
    }

    private void run() {
        try {
            if (closed.await(until(length).toMillis(), TimeUnit.MILLISECONDS)) {
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return;
        }
        log.info("the grace period of {} ms is nearly over: what is under way is told to end", length.toMillis());
        end.run();
    }

    /// The period is over, as nothing is under way.
    @Override
    public void close() {
        closed.countDown();
    }
}
