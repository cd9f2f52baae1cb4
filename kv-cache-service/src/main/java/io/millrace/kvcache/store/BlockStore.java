package io.millrace.kvcache.store;

import com.google.protobuf.ByteString;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/// The prefix cache without the wire: blocks in memory, leases over them, a byte budget. Safe for any
/// number of threads.
///
/// Arguments are taken as checked by the edge (lengths, counts). Expected refusals are
/// [MillraceException]s:
/// LEASE_EXPIRED, CACHE_FULL, KV_BLOCK_NOT_FOUND, KV_NAMESPACE_MISMATCH.
public final class BlockStore {
    private final StoreCore core;

    /// @param firstEventNumber  number of the first event: higher than any of an earlier process
    public BlockStore(StoreLimits limits, MonotonicClock clock, long firstEventNumber, StoreMeters meters) {
        this.core = new StoreCore(limits, clock, firstEventNumber, meters);
    }

    public StoreLimits limits() {
        return core.limits;
    }

    /// Opens or extends a lease over the stored beginning of a chain.
    ///
    /// @return blocks found
    public int match(LeaseTerms terms, ByteString namespace, List<ByteString> chain) {
        return core.locked(() -> {
            Lease lease = core.leases.open(terms, core.now());
            List<TreeNode> found = core.tree.match(namespace, chain);
            for (TreeNode node : found) {
                lease.pins().add(node);
            }
            core.meters.matched(chain.size(), found.size());
            return found.size();
        });
    }

    /// Sets a lease's reservation, making room for it; what an earlier one has left is part of the new
    /// one.
    ///
    /// @throws MillraceException CACHE_FULL if everything that is left is leased
    public void reserve(String leaseId, long sizeBytes) {
        core.locked(() -> {
            Lease lease = core.leases.standing(leaseId);
            if (!core.room.reserve(lease.reservedBytes(), sizeBytes)) {
                core.meters.limitReached("capacity");
                throw new MillraceException(
                        ErrorCode.CACHE_FULL,
                        "size_bytes: " + sizeBytes + " (no room: " + core.room.usedBytes() + " of "
                                + core.room.capacityBytes() + " bytes are used, the rest is leased)");
            }
            lease.setReservation(sizeBytes);
        });
    }

    /// Begins a put.
    ///
    /// @throws MillraceException LEASE_EXPIRED if it names a lease that the holder does not hold
    public PutSession openPut(PutTerms terms) {
        return core.locked(() -> new PutSession(
                core,
                terms,
                terms.leased()
                        ? core.leases.held(terms.leaseId(), terms.holder())
                        : new UnleasedPut(new PinSet(core.tree))));
    }

    /// Opens or extends a lease and adds blocks to it.
    ///
    /// @return how many of them are there, tails of the lease included
    public int pin(LeaseTerms terms, List<ByteString> ids) {
        return core.locked(() -> {
            Lease lease = core.leases.open(terms, core.now());
            int found = 0;
            for (ByteString id : ids) {
                TreeNode node = core.tree.find(id);
                if (node != null && !node.damaged) {
                    core.tree.touch(node);
                    lease.pins().add(node);
                    found++;
                } else if (lease.tails.containsKey(id)) {
                    found++;
                }
            }
            return found;
        });
    }

    /// Extends a lease and makes the holder one of its own.
    ///
    /// @throws MillraceException LEASE_EXPIRED if it does not stand
    public void renew(LeaseTerms terms) {
        core.locked(() -> core.leases.renew(terms, core.now()));
    }

    /// Lets go of a lease; nothing happens if it does not stand.
    ///
    /// @param holder  who lets go; empty ends the lease for all
    public void release(String leaseId, String holder) {
        core.locked(() -> core.leases.release(leaseId, holder));
    }

    /// Finds the blocks of a fetch.
    ///
    /// @throws MillraceException LEASE_EXPIRED, KV_BLOCK_NOT_FOUND (not there, or not under this lease),
    ///                           KV_NAMESPACE_MISMATCH
    public FetchPlan openFetch(String leaseId, String holder, ByteString namespace, List<ByteString> ids) {
        return core.locked(() -> {
            Lease lease = core.leases.held(leaseId, holder);
            List<StoredBlock> blocks = new ArrayList<>(ids.size());
            for (int i = 0; i < ids.size(); i++) {
                StoredBlock block = leased(lease, ids.get(i));
                if (block == null) {
                    throw MillraceException.ofParam(
                            ErrorCode.KV_BLOCK_NOT_FOUND, "block_ids", "block_ids[" + i + "] is not under the lease");
                }
                if (!block.namespace().equals(namespace)) {
                    throw MillraceException.ofParam(
                            ErrorCode.KV_NAMESPACE_MISMATCH,
                            "namespace",
                            "block_ids[" + i + "] belongs to another namespace");
                }
                blocks.add(block);
            }
            return new FetchPlan(lease, holder, blocks);
        });
    }

    private @Nullable StoredBlock leased(Lease lease, ByteString id) {
        StoredBlock tail = lease.tails.get(id);
        if (tail != null) {
            return tail;
        }
        TreeNode node = core.tree.find(id);
        if (node == null || node.damaged || !lease.pins().contains(node)) {
            return null;
        }
        core.tree.touch(node);
        return node.block;
    }

    /// The bytes of a block differ from the checksum they arrived with: takes it out of sight, so that the
    /// next put of it replaces it. A tail goes at once.
    ///
    /// @param plan   the fetch that found it
    /// @param block  one of its blocks
    /// @return false if that was known, or the block has gone or been replaced since
    public boolean drop(FetchPlan plan, StoredBlock block) {
        return core.locked(() -> {
            TreeNode node = core.tree.find(block.id());
            boolean dropped = node == null ? dropTail(plan.lease(), block) : dropNode(node, block);
            if (dropped) {
                core.meters.damaged();
            }
            return dropped;
        });
    }

    @SuppressWarnings("ReferenceEquality") // the very bytes that were found damaged, not a later put's
    private boolean dropNode(TreeNode node, StoredBlock block) {
        if (node.damaged || node.block != block) {
            return false;
        }
        for (TreeNode lost : core.tree.damage(node).reversed()) {
            core.announce(new StoreEvent.Removed(lost.id()));
        }
        return true;
    }

    @SuppressWarnings("ReferenceEquality") // as above
    private boolean dropTail(Lease lease, StoredBlock block) {
        if (lease.tails.get(block.id()) != block) {
            return false;
        }
        lease.tails.remove(block.id());
        lease.tailBytes -= block.sizeBytes();
        core.room.freeTail(block.sizeBytes());
        return true;
    }

    /// Whether the lease of a fetch stood all the time until now.
    public boolean stillStands(FetchPlan plan) {
        return core.locked(() -> !plan.lease().ended && plan.lease().holders.contains(plan.holder()));
    }

    /// Drops unleased blocks, least recently used leaves first, until at least so many bytes went.
    ///
    /// @return bytes that went; fewer if everything left is leased
    public long evict(long sizeBytes) {
        return core.locked(() -> core.room.evict(sizeBytes));
    }

    /// A Hold stream of this holder opened.
    ///
    /// @throws MillraceException CACHE_FULL if too many holders are connected
    public void holderConnected(String holder) {
        core.locked(() -> core.leases.streamOpened(holder));
    }

    /// A Hold stream broke: without another one of the same holder, its leases lose it.
    public void holderLost(String holder) {
        core.locked(() -> core.leases.streamBroke(holder));
    }

    /// This process goes down: from now on broken Hold streams end no lease, so that fetches under way
    /// can finish.
    public void drain() {
        core.locked(core.leases::drain);
    }

    /// Ends leases that ran out. Every operation does; this is for when there is none.
    public void expireLeases() {
        core.locked(() -> {});
    }

    /// What a reader of events gets next: events from a number on, or all blocks if that number is not
    /// to be had.
    public EventBatch events(long fromNumber, int max) {
        return core.locked(() -> {
            Optional<EventBatch.Continued> next = core.events.from(fromNumber, max);
            return next.isPresent() ? next.get() : snapshot();
        });
    }

    /// Waits until there is an event of that number, or the time is over.
    public void awaitEvent(long number, long timeoutMillis) throws InterruptedException {
        core.lock().lockInterruptibly();
        try {
            long nanos = TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
            while (core.events.lastNumber() < number && nanos > 0) {
                nanos = core.eventsChanged.awaitNanos(nanos);
            }
        } finally {
            core.lock().unlock();
        }
    }

    private EventBatch.Snapshot snapshot() {
        List<StoreEvent.Stored> blocks = new ArrayList<>(core.tree.blocks());
        for (TreeNode node : core.tree.matchable()) {
            blocks.add(new StoreEvent.Stored(node.id(), node.parentId()));
        }
        return new EventBatch.Snapshot(core.events.lastNumber(), blocks);
    }

    public StoreStats stats() {
        return core.locked(() -> new StoreStats(
                core.tree.blocks(),
                core.tree.pinnedBlocks(),
                core.room.usedBytes(),
                core.tree.pinnedBytes(),
                core.room.tailBytes(),
                core.room.reservedBytes(),
                core.room.capacityBytes(),
                core.leases.all().size(),
                core.leases.holders()));
    }

    /// The leases that stand, oldest first.
    public List<LeaseView> leases() {
        return core.locked(() -> {
            long now = core.now();
            List<LeaseView> views = new ArrayList<>();
            for (Lease lease : core.leases.all()) {
                views.add(new LeaseView(
                        lease.id,
                        List.copyOf(lease.holders),
                        lease.pins().size(),
                        lease.tails.size(),
                        lease.tailBytes,
                        TimeUnit.NANOSECONDS.toMillis(lease.expiresAtNanos - now)));
            }
            return views;
        });
    }

    /// For tests alone: flips the lowest bit of one byte of a stored block or tail. Tests of other modules
    /// reach it from a class in this package.
    ///
    /// @param hidden  makes the checksum fit again, so that only the numbers computed from the block can
    ///                show the change
    /// @return false if there is no such block
    boolean flipBit(ByteString id, int section, int offset, boolean hidden) {
        return core.locked(() -> {
            TreeNode node = core.tree.find(id);
            if (node != null) {
                node.block = BitFlip.of(node.block, section, offset, hidden);
                return true;
            }
            for (Lease lease : core.leases.all()) {
                StoredBlock tail = lease.tails.get(id);
                if (tail != null) {
                    lease.tails.put(id, BitFlip.of(tail, section, offset, hidden));
                    return true;
                }
            }
            return false;
        });
    }

    StoreCore core() {
        return core;
    }
}
