package io.millrace.kvcache.store;

/// Limits of a [BlockStore].
///
/// @param capacityBytes    bytes of blocks, tails, reservations and puts under way together
/// @param bufferedEvents   events kept for readers that are behind
public record StoreLimits(long capacityBytes, int bufferedEvents, LeaseLimits lease, RequestLimits request) {
    public StoreLimits {
        Limits.positive("capacityBytes", capacityBytes);
        Limits.positive("bufferedEvents", bufferedEvents);
    }
}
