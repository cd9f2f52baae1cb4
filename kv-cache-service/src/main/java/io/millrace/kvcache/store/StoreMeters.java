package io.millrace.kvcache.store;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.millrace.rpc.MetricNames;
import java.util.Locale;

/// Counts what the store does.
public final class StoreMeters {
    private final MeterRegistry registry;
    private final Counter queriedBlocks;
    private final Counter matchedBlocks;
    private final Counter evictedBlocks;
    private final Counter checksumMismatches;
    private final Counter damagedBlocks;

    public StoreMeters(MeterRegistry registry) {
        this.registry = registry;
        this.queriedBlocks = registry.counter(MetricNames.KV_CACHE_QUERIED_BLOCKS);
        this.matchedBlocks = registry.counter(MetricNames.KV_CACHE_MATCHED_BLOCKS);
        this.evictedBlocks = registry.counter(MetricNames.KV_CACHE_EVICTED_BLOCKS);
        this.checksumMismatches = registry.counter(MetricNames.KV_CACHE_CHECKSUM_MISMATCHES);
        this.damagedBlocks = registry.counter(MetricNames.KV_CACHE_DAMAGED_BLOCKS);
    }

    void matched(int queried, int found) {
        queriedBlocks.increment(queried);
        matchedBlocks.increment(found);
    }

    void evicted() {
        evictedBlocks.increment();
    }

    void checksumMismatch() {
        checksumMismatches.increment();
    }

    void damaged() {
        damagedBlocks.increment();
    }

    void put(PutBlock outcome, int blocks) {
        if (blocks > 0) {
            registry.counter(MetricNames.KV_CACHE_PUT_BLOCKS, "outcome", lower(outcome))
                    .increment(blocks);
        }
    }

    void leaseEnded(LeaseEnd reason) {
        registry.counter(MetricNames.KV_CACHE_LEASES_ENDED, "reason", lower(reason))
                .increment();
    }

    /// A request was refused because a configured limit is reached.
    public void limitReached(String limit) {
        registry.counter(MetricNames.KV_CACHE_LIMIT_REFUSALS, "limit", limit).increment();
    }

    private static String lower(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }
}
