package io.millrace.kvcache.store;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/// The parts of a store and the one lock around them. What runs under it is bookkeeping in memory: no
/// bytes are copied,
/// checked or sent while it is held.
final class StoreCore {
    final StoreLimits limits;
    final StoreMeters meters;
    final PrefixTree tree = new PrefixTree();
    final EventLog events;
    final Room room;
    final LeaseTable leases;
    final Condition eventsChanged;
    private final ReentrantLock lock = new ReentrantLock();
    private final MonotonicClock clock;

    StoreCore(StoreLimits limits, MonotonicClock clock, long firstEventNumber, StoreMeters meters) {
        this.limits = limits;
        this.clock = clock;
        this.meters = meters;
        this.events = new EventLog(limits.bufferedEvents(), firstEventNumber);
        this.room = new Room(tree, limits.capacityBytes(), this::evicted);
        this.leases = new LeaseTable(tree, room, limits.lease(), meters);
        this.eventsChanged = lock.newCondition();
    }

    /// Runs one operation: a new tick of the tree's clock, after leases that ran out have ended.
    <T> T locked(Supplier<T> operation) {
        lock.lock();
        try {
            tree.nextTick();
            leases.expire(now());
            return operation.get();
        } finally {
            lock.unlock();
        }
    }

    void locked(Runnable operation) {
        lock.lock();
        try {
            tree.nextTick();
            leases.expire(now());
            operation.run();
        } finally {
            lock.unlock();
        }
    }

    /// For waiting on a condition; nothing else.
    ReentrantLock lock() {
        return lock;
    }

    long now() {
        return clock.nanoTime();
    }

    void announce(StoreEvent event) {
        events.append(event);
        eventsChanged.signalAll();
    }

    private void evicted(TreeNode node) {
        meters.evicted();
        if (node.matchable()) {
            announce(new StoreEvent.Removed(node.id()));
        }
    }
}
