package io.millrace.standalone.bench;

import java.util.Locale;

/// Tells a model's peak of memory, and for large models how it stands to the project's aim: 1.15 times the weights,
/// the cached keys and 250 MiB. In small ones the JVM itself is most of it.
final class MemoryNote {
    private static final long JUDGED_BYTES = 500L << 20;
    private static final double WEIGHTS_FACTOR = 1.15;
    private static final long REST_BYTES = 250L << 20;
    private static final int MIB = 1 << 20;

    private MemoryNote() {}

    /// @param peak     bytes in RAM
    /// @param weights  packed bytes
    /// @param keys     bytes of the pool of cached keys
    static String of(long peak, long weights, long keys) {
        if (weights < JUDGED_BYTES) {
            return String.format(
                    Locale.ROOT,
                    "peak memory in RAM: %,d MiB, of which %,d MiB are weights and %,d MiB keys",
                    peak / MIB,
                    weights / MIB,
                    keys / MIB);
        }
        long aim = (long) (WEIGHTS_FACTOR * weights) + keys + REST_BYTES;
        return String.format(
                Locale.ROOT,
                "peak memory in RAM: %,d MiB; the project's aim for large models, %,d MiB (1.15 x %,d MiB of weights"
                        + " + %,d MiB of keys + 250 MiB), is %s",
                peak / MIB,
                aim / MIB,
                weights / MIB,
                keys / MIB,
                peak <= aim ? "met" : "missed");
    }
}
