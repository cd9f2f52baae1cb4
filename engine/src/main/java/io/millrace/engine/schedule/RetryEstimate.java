package io.millrace.engine.schedule;

/// Estimates when a place will be free: a moving average of how long a request keeps one, over the places
/// that turn over side by side. Any thread.
final class RetryEstimate {
    static final long MIN_MILLIS = 50;
    static final long MAX_MILLIS = 60_000;
    private static final double FIRST_GUESS_MILLIS = 1000;
    private static final double WEIGHT = 0.2;

    private final int places;
    private volatile double averageMillis = FIRST_GUESS_MILLIS;

    RetryEstimate(int places) {
        this.places = places;
    }

    /// A request gave its place back after so long.
    synchronized void placeKept(long nanos) {
        averageMillis += WEIGHT * (nanos / 1e6 - averageMillis);
    }

    /// Wait that lets a newcomer in when `ahead` requests wait before it.
    long millis(int ahead) {
        double wait = Math.ceil(averageMillis * (ahead + 1) / places);
        return (long) Math.clamp(wait, MIN_MILLIS, MAX_MILLIS);
    }
}
