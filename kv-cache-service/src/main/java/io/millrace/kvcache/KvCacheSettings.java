package io.millrace.kvcache;

import io.millrace.kvcache.store.LeaseLimits;
import io.millrace.kvcache.store.RequestLimits;
import io.millrace.kvcache.store.StoreLimits;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/// Settings `millrace.kv-cache.*`; the defaults are those of `application.yaml` beside this class.
/// Unknown keys fail.
///
/// @param capacityBytes        bytes of blocks, tails, reservations and puts under way together; on the
///                             Java heap
/// @param bufferedEvents       events kept for readers that are behind
/// @param maxStreams           put and fetch streams at a time, each
/// @param maxEventStreams      readers of events at a time
/// @param sweepIntervalMillis  how often leases are looked through for those that ran out
@ConfigurationProperties(prefix = "millrace.kv-cache", ignoreUnknownFields = false)
public record KvCacheSettings(
        long capacityBytes,
        int bufferedEvents,
        int maxStreams,
        int maxEventStreams,
        long sweepIntervalMillis,
        LeaseLimits lease,
        RequestLimits request) {
    /// Room for them is taken at the start.
    private static final int MAX_BUFFERED_EVENTS = 1 << 24;

    public KvCacheSettings {
        requirePositive("capacityBytes", capacityBytes);
        if (bufferedEvents < 1 || bufferedEvents > MAX_BUFFERED_EVENTS) {
            throw new IllegalArgumentException(
                    "bufferedEvents: " + bufferedEvents + " (expected: 1.." + MAX_BUFFERED_EVENTS + ")");
        }
        requirePositive("maxStreams", maxStreams);
        requirePositive("maxEventStreams", maxEventStreams);
        requirePositive("sweepIntervalMillis", sweepIntervalMillis);
        requireSection("lease", lease);
        requireSection("request", request);
        long heapBytes = Runtime.getRuntime().maxMemory();
        if (capacityBytes > heapBytes) {
            throw new IllegalArgumentException(
                    "capacityBytes: " + capacityBytes + " (expected: less than the Java heap, " + heapBytes + ")");
        }
    }

    StoreLimits storeLimits() {
        return new StoreLimits(capacityBytes, bufferedEvents, lease, request);
    }

    private static void requirePositive(String name, long value) {
        if (value <= 0) {
            throw new IllegalArgumentException(name + ": " + value + " (expected: 1 or more)");
        }
    }

    private static void requireSection(String name, @Nullable Object section) {
        if (section == null) {
            throw new IllegalArgumentException(name + ": absent (expected: its limits)");
        }
    }
}
