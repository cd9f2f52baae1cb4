package io.millrace.kvcache.store;

/// Numbers of a store at one moment.
///
/// @param usedBytes      blocks, tails, reservations and puts under way
/// @param reservedBytes  of those, reservations and puts under way
public record StoreStats(
        int blocks,
        int pinnedBlocks,
        long usedBytes,
        long pinnedBytes,
        long tailBytes,
        long reservedBytes,
        long capacityBytes,
        int leases,
        int holders) {}
