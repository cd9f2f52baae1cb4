package io.millrace.kvcache.store;

/// Checks of configured numbers.
final class Limits {
    private Limits() {}

    static void positive(String name, long value) {
        if (value <= 0) {
            throw new IllegalArgumentException(name + ": " + value + " (expected: 1 or more)");
        }
    }
}
