package io.millrace.gateway.route;

import io.millrace.startup.arrival.Arrivals;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;

/// How the gateway ends, before the web server does: requests that come are refused, as are those whose bodies are
/// still on their way; those under way have a grace period, at the end of which they are answered with an error, so
/// that no connection is cut without a word whose client reads.
final class GracefulEnd implements SmartLifecycle {
    private static final Logger log = LoggerFactory.getLogger(GracefulEnd.class);
    /// For the last bytes of requests that were told to end.
    private static final long LAST_BYTES_MILLIS = 2000;

    private final OpenExchanges open;
    private final Arrivals arrivals;
    private final Duration grace;
    private volatile boolean running;

    /// @param grace  0 for none
    GracefulEnd(OpenExchanges open, Arrivals arrivals, Duration grace) {
        this.open = open;
        this.arrivals = arrivals;
        this.grace = grace;
    }

    @Override
    public void start() {
        running = true;
    }

    /// Returns when no request is under way. Clients that take no answer are cut off: the web server would wait for
    /// them as long again.
    @Override
    public void stop() {
        running = false;
        int left = open.close();
        arrivals.close();
        if (left > 0) {
            log.info("shutting down: {} requests under way may finish within {} ms", left, grace.toMillis());
        }
        try {
            if (open.awaitNone(left == 0 ? LAST_BYTES_MILLIS : grace.toMillis()) || left == 0) {
                return;
            }
            int stopped = open.stop("The gateway is shutting down, and the answer was not complete within the "
                    + seconds() + " s that requests under way are given; try again.");
            log.warn("shutting down: {} requests were not complete after {} ms", stopped, grace.toMillis());
            if (!open.awaitNone(LAST_BYTES_MILLIS)) {
                log.warn("shutting down: cut off {} clients that do not take their answer", open.cut());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private String seconds() {
        long millis = grace.toMillis();
        return millis % 1000 == 0 ? Long.toString(millis / 1000) : Double.toString(millis / 1e3);
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    /// Before the web server, whose phases are lower.
    @Override
    public int getPhase() {
        return DEFAULT_PHASE;
    }
}
