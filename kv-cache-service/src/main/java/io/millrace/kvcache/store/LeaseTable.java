package io.millrace.kvcache.store;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// All leases that stand, and the streams of their holders.
///
/// A holder may have several Hold streams for a moment (a new one opened before the old one's end was
/// seen) or none yet;
/// it is lost when the last one it had breaks.
///
/// Not thread-safe: [BlockStore] guards it.
final class LeaseTable {
    private final Map<String, Lease> leases = new LinkedHashMap<>();
    private final Map<String, Integer> streams = new HashMap<>();
    private final PrefixTree tree;
    private final Room room;
    private final LeaseLimits limits;
    private final StoreMeters meters;
    private boolean draining;
    private long earliestExpiryNanos;

    LeaseTable(PrefixTree tree, Room room, LeaseLimits limits, StoreMeters meters) {
        this.tree = tree;
        this.room = room;
        this.limits = limits;
        this.meters = meters;
    }

    /// The lease of that name, with this holder and a new expiry; opened if it does not stand.
    Lease open(LeaseTerms terms, long nowNanos) {
        Lease lease = leases.get(terms.leaseId());
        if (lease == null) {
            if (leases.size() >= limits.maxLeases()) {
                meters.limitReached("leases");
                throw new MillraceException(
                        ErrorCode.CACHE_FULL, "leases: " + leases.size() + " stand already (limit reached)");
            }
            lease = new Lease(terms.leaseId(), new PinSet(tree));
            leases.put(lease.id, lease);
        }
        extend(lease, terms, nowNanos);
        return lease;
    }

    /// Adds time, and the holder if it is new.
    ///
    /// @throws MillraceException LEASE_EXPIRED if the lease does not stand
    void renew(LeaseTerms terms, long nowNanos) {
        Lease lease = leases.get(terms.leaseId());
        if (lease == null) {
            throw notStanding(terms.leaseId());
        }
        extend(lease, terms, nowNanos);
    }

    private void extend(Lease lease, LeaseTerms terms, long nowNanos) {
        if (!lease.holders.contains(terms.holder()) && lease.holders.size() >= limits.maxHoldersPerLease()) {
            meters.limitReached("holders_per_lease");
            throw new MillraceException(
                    ErrorCode.CACHE_FULL, "holder: the lease has " + lease.holders.size() + " already (limit reached)");
        }
        lease.holders.add(terms.holder());
        lease.expiresAtNanos = nowNanos + terms.durationNanos();
        if (leases.size() == 1 || lease.expiresAtNanos - earliestExpiryNanos < 0) {
            earliestExpiryNanos = lease.expiresAtNanos;
        }
    }

    /// The standing lease that this holder is part of.
    ///
    /// @throws MillraceException LEASE_EXPIRED otherwise
    Lease held(String leaseId, String holder) {
        Lease lease = leases.get(leaseId);
        if (lease == null || !lease.holders.contains(holder)) {
            throw notStanding(leaseId);
        }
        return lease;
    }

    /// The standing lease of that name.
    ///
    /// @throws MillraceException LEASE_EXPIRED if there is none
    Lease standing(String leaseId) {
        Lease lease = leases.get(leaseId);
        if (lease == null) {
            throw notStanding(leaseId);
        }
        return lease;
    }

    static MillraceException notStanding(String leaseId) {
        return new MillraceException(
                ErrorCode.LEASE_EXPIRED, "lease " + leaseId + " does not stand for this holder any more");
    }

    /// @param holder  who lets go; empty ends the lease for all
    void release(String leaseId, String holder) {
        Lease lease = leases.get(leaseId);
        if (lease != null && (holder.isEmpty() || letGo(lease, holder))) {
            end(lease, LeaseEnd.RELEASED);
        }
    }

    void streamOpened(String holder) {
        int open = streams.getOrDefault(holder, 0);
        if (open == 0 && streams.size() >= limits.maxHolders()) {
            meters.limitReached("holders");
            throw new MillraceException(
                    ErrorCode.CACHE_FULL, "holder: " + streams.size() + " are connected already (limit reached)");
        }
        streams.put(holder, open + 1);
    }

    void streamBroke(String holder) {
        int open = streams.getOrDefault(holder, 0) - 1;
        if (open > 0) {
            streams.put(holder, open);
            return;
        }
        streams.remove(holder);
        if (draining) {
            return;
        }
        for (Lease lease : List.copyOf(leases.values())) {
            if (lease.holders.contains(holder) && letGo(lease, holder)) {
                end(lease, LeaseEnd.HOLDER_LOST);
            }
        }
    }

    /// From now on a broken Hold stream ends nothing: it is this process that goes.
    void drain() {
        draining = true;
    }

    void expire(long nowNanos) {
        if (leases.isEmpty() || earliestExpiryNanos - nowNanos > 0) {
            return;
        }
        List<Lease> over = new ArrayList<>();
        long earliest = nowNanos + Long.MAX_VALUE / 2;
        for (Lease lease : leases.values()) {
            if (lease.expiresAtNanos - nowNanos <= 0) {
                over.add(lease);
            } else if (lease.expiresAtNanos - earliest < 0) {
                earliest = lease.expiresAtNanos;
            }
        }
        earliestExpiryNanos = earliest;
        for (Lease lease : over) {
            end(lease, LeaseEnd.EXPIRED);
        }
    }

    Collection<Lease> all() {
        return leases.values();
    }

    int holders() {
        return streams.size();
    }

    private static boolean letGo(Lease lease, String holder) {
        return lease.holders.remove(holder) && lease.holders.isEmpty();
    }

    private void end(Lease lease, LeaseEnd reason) {
        leases.remove(lease.id);
        lease.ended = true;
        lease.pins().clear();
        lease.tails.clear();
        room.freeTail(lease.tailBytes);
        lease.tailBytes = 0;
        room.reserve(lease.reservedBytes(), 0);
        lease.setReservation(0);
        meters.leaseEnded(reason);
    }
}
