package io.millrace.kvcache.store;

/// Limits of leases.
///
/// @param defaultMillis        how long a lease stands that names no duration
/// @param maxMillis            longest duration that may be asked for
/// @param maxLeases            leases at a time
/// @param maxHolders           processes with a Hold stream at a time
/// @param maxHoldersPerLease   holders of one lease
public record LeaseLimits(long defaultMillis, long maxMillis, int maxLeases, int maxHolders, int maxHoldersPerLease) {
    public LeaseLimits {
        Limits.positive("defaultMillis", defaultMillis);
        Limits.positive("maxLeases", maxLeases);
        Limits.positive("maxHolders", maxHolders);
        Limits.positive("maxHoldersPerLease", maxHoldersPerLease);
        if (maxMillis < defaultMillis) {
            throw new IllegalArgumentException(
                    "maxMillis: " + maxMillis + " (expected: defaultMillis=" + defaultMillis + " or more)");
        }
    }
}
