package io.millrace.rpc;

/// Limits of a [KvCacheClient].
///
/// @param callTimeoutMillis        deadline of match, reserve, pin, renew, release, stats
/// @param fetchTimeoutMillis       deadline of a whole fetch
/// @param putTimeoutMillis         deadline of a whole put stream, which lives as long as the prefill
///                                 that feeds it
/// @param stallTimeoutMillis       how long one send may wait for the cache to take bytes
/// @param leaseMillis              how long a lease stands after its last renewal
/// @param holdBackoffMillis        wait before the Hold stream is opened again; doubles up to
///                                 `holdBackoffMaxMillis`
/// @param holdBackoffMaxMillis     longest such wait
/// @param maxMessageBytes          largest message accepted; a section travels in one message
/// @param verifyChecksums          whether fetched sections are checked; off only in the test that shows why
public record KvCacheClientSettings(
        long callTimeoutMillis,
        long fetchTimeoutMillis,
        long putTimeoutMillis,
        long stallTimeoutMillis,
        long leaseMillis,
        long holdBackoffMillis,
        long holdBackoffMaxMillis,
        int maxMessageBytes,
        boolean verifyChecksums) {

    /// gRPC's own limit of 4 MB is less than a section can have.
    public static final int DEFAULT_MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

    public KvCacheClientSettings {
        positive("callTimeoutMillis", callTimeoutMillis);
        positive("fetchTimeoutMillis", fetchTimeoutMillis);
        positive("putTimeoutMillis", putTimeoutMillis);
        positive("stallTimeoutMillis", stallTimeoutMillis);
        positive("leaseMillis", leaseMillis);
        positive("holdBackoffMillis", holdBackoffMillis);
        positive("maxMessageBytes", maxMessageBytes);
        if (holdBackoffMaxMillis < holdBackoffMillis) {
            throw new IllegalArgumentException("holdBackoffMaxMillis: " + holdBackoffMaxMillis
                    + " (expected: holdBackoffMillis=" + holdBackoffMillis + " or more)");
        }
    }

    public static KvCacheClientSettings defaults() {
        return new KvCacheClientSettings(
                2_000, 30_000, 600_000, 10_000, 30_000, 100, 5_000, DEFAULT_MAX_MESSAGE_BYTES, true);
    }

    /// The same without a check of fetched sections: a test hook, never for service.
    public KvCacheClientSettings withoutChecksums() {
        return new KvCacheClientSettings(
                callTimeoutMillis,
                fetchTimeoutMillis,
                putTimeoutMillis,
                stallTimeoutMillis,
                leaseMillis,
                holdBackoffMillis,
                holdBackoffMaxMillis,
                maxMessageBytes,
                false);
    }

    private static void positive(String name, long value) {
        if (value <= 0) {
            throw new IllegalArgumentException(name + ": " + value + " (expected: 1 or more)");
        }
    }
}
