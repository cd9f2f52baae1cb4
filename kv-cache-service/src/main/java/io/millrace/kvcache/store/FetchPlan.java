package io.millrace.kvcache.store;

import java.util.List;

/// Blocks to send under a lease. Holding it keeps their bytes readable; whether the lease still stands
/// is asked again
/// after the last one.
public final class FetchPlan {
    private final Lease lease;
    private final String holder;
    private final List<StoredBlock> blocks;

    FetchPlan(Lease lease, String holder, List<StoredBlock> blocks) {
        this.lease = lease;
        this.holder = holder;
        this.blocks = List.copyOf(blocks);
    }

    Lease lease() {
        return lease;
    }

    String holder() {
        return holder;
    }

    public List<StoredBlock> blocks() {
        return blocks;
    }
}
