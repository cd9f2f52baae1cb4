package io.millrace.engine.model;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.kv.KvLayout;
import io.millrace.kernels.Selection;
import org.jspecify.annotations.Nullable;

/// Takes the memory of a step's selected slots, after a look whether there is so much.
///
/// @param key   that decided how many slots a row selects
/// @param topK  slots a row selects
record SelectionMemory(String key, int topK) {
    /// What a JVM makes no array of is a few elements more.
    private static final int MAX_ELEMENTS = Integer.MAX_VALUE - 8;

    /// Slots to keep for a row: nobody sees more than the pool holds.
    ///
    /// @param pages  of the pool
    static int slots(int topK, int pages) {
        return (int) Math.max(1, Math.min(topK, (long) pages * KvLayout.PAGE_TOKENS));
    }

    /// @param maxRows  most rows of a step
    /// @param pages    of the pool whose slots are selected
    /// @throws MillraceException if the heap has no room for them
    Selection allocate(int maxRows, int pages) {
        int slots = slots(topK, pages);
        long elements = (long) maxRows * slots;
        if (elements > MAX_ELEMENTS || elements * Integer.BYTES > freeBytes()) {
            // Garbage counts as held; it is collected only where it matters.
            System.gc();
            if (elements > MAX_ELEMENTS || elements * Integer.BYTES > freeBytes()) {
                throw refused(maxRows, elements, null);
            }
        }
        try {
            return new Selection(maxRows, slots);
        } catch (OutOfMemoryError e) {
            throw refused(maxRows, elements, e);
        }
    }

    private static long freeBytes() {
        Runtime runtime = Runtime.getRuntime();
        return runtime.maxMemory() - runtime.totalMemory() + runtime.freeMemory();
    }

    private MillraceException refused(int maxRows, long elements, @Nullable Throwable cause) {
        long most = Math.min(freeBytes(), (long) MAX_ELEMENTS * Integer.BYTES);
        return new MillraceException(
                ErrorCode.INVALID_REQUEST,
                key + ": " + topK + " selected slots for each of " + maxRows + " rows of a step take "
                        + mebibytes(elements * Integer.BYTES) + " (expected: no more than " + mebibytes(most)
                        + " that the heap has left; fewer slots, or a smaller pool of keys: millrace.kv.pool-tokens,"
                        + " in bench --depth)",
                cause);
    }

    private static String mebibytes(long bytes) {
        return (bytes >> 20) + " MiB";
    }
}
