package io.millrace.gateway.route;

import io.millrace.engine.error.ErrorCode;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/// The exchanges under way. Once it is closed, those that come are stopped as they enter.
final class OpenExchanges implements RequestsUnderWay {
    private static final String CLOSED = "The gateway is shutting down and takes no more requests; try again.";

    private final Set<Exchange> open = new HashSet<>();
    private boolean closed;

    synchronized void enter(Exchange exchange) {
        open.add(exchange);
        if (closed) {
            exchange.stop(ErrorCode.SHUTTING_DOWN, CLOSED);
        }
    }

    synchronized void leave(Exchange exchange) {
        open.remove(exchange);
        notifyAll();
    }

    @Override
    public synchronized int count() {
        return (int) open.stream().filter(Exchange::hasArrived).count();
    }

    /// Whether the body of one is on its way.
    synchronized boolean isReading() {
        return open.stream().anyMatch(exchange -> !exchange.hasArrived());
    }

    /// Stops those that have not arrived in full.
    ///
    /// @return how many others are under way
    synchronized int close() {
        closed = true;
        open.forEach(exchange -> exchange.stopUnlessArrived(ErrorCode.SHUTTING_DOWN, CLOSED));
        return count();
    }

    /// Stops all of them.
    ///
    /// @param why  one sentence for those who asked
    /// @return how many there were
    int stop(String why) {
        List<Exchange> left = left();
        left.forEach(exchange -> exchange.stop(ErrorCode.SHUTTING_DOWN, why));
        return left.size();
    }

    /// Ends the connections of all of them.
    ///
    /// @return how many there were
    int cut() {
        List<Exchange> left = left();
        left.forEach(Exchange::cut);
        return left.size();
    }

    private synchronized List<Exchange> left() {
        return List.copyOf(open);
    }

    /// Waits until none is under way.
    ///
    /// @return whether that came about in time
    synchronized boolean awaitNone(long millis) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        while (!open.isEmpty()) {
            long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
            if (left <= 0) {
                return false;
            }
            wait(left);
        }
        return true;
    }
}
