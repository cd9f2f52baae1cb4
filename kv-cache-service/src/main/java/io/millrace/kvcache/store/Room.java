package io.millrace.kvcache.store;

import java.util.Optional;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// The byte budget. What is in the tree, tails, reservations and puts under way never exceed the
/// capacity together.
/// Room is made by evicting, and only if that suffices: a refused claim evicts nothing.
///
/// Not thread-safe: [BlockStore] guards it.
final class Room {
    private static final Logger LOG = LoggerFactory.getLogger(Room.class);

    private final PrefixTree tree;
    private final long capacityBytes;
    private final Consumer<TreeNode> onEvicted;
    private long tailBytes;
    private long reservedBytes;
    private long incomingBytes;
    private boolean tooSmallTold;

    Room(PrefixTree tree, long capacityBytes, Consumer<TreeNode> onEvicted) {
        this.tree = tree;
        this.capacityBytes = capacityBytes;
        this.onEvicted = onEvicted;
    }

    /// Takes room for a block whose put begins, from the lease's reservation first. Of blocks that can never have it
    /// the log tells once.
    boolean claimIncoming(PutOwner owner, long sizeBytes) {
        if (sizeBytes > capacityBytes && !tooSmallTold) {
            tooSmallTold = true;
            LOG.warn(
                    "millrace.kv-cache.capacity-bytes: {} (expected: at least {}, one block of what is put here);"
                            + " nothing is cached",
                    capacityBytes,
                    sizeBytes);
        }
        long fromReservation = Math.min(owner.reservedBytes(), sizeBytes);
        if (!makeRoom(sizeBytes - fromReservation)) {
            return false;
        }
        owner.takeReservation(fromReservation);
        reservedBytes -= fromReservation;
        incomingBytes += sizeBytes;
        return true;
    }

    /// The put of a block ended: its bytes are in the tree, in a tail, or gone.
    void endIncoming(long sizeBytes) {
        incomingBytes -= sizeBytes;
    }

    /// Changes a reservation from one size to another; a smaller one always succeeds.
    boolean reserve(long fromBytes, long toBytes) {
        if (toBytes > fromBytes && !makeRoom(toBytes - fromBytes)) {
            return false;
        }
        reservedBytes += toBytes - fromBytes;
        return true;
    }

    void addTail(long sizeBytes) {
        tailBytes += sizeBytes;
    }

    void freeTail(long sizeBytes) {
        tailBytes -= sizeBytes;
    }

    /// Evicts until at least so many bytes went, or nothing is left to evict.
    ///
    /// @return bytes that went
    long evict(long sizeBytes) {
        long evicted = 0;
        while (evicted < sizeBytes) {
            Optional<TreeNode> node = tree.evictOne();
            if (node.isEmpty()) {
                break;
            }
            evicted += node.get().sizeBytes;
            onEvicted.accept(node.get());
        }
        return evicted;
    }

    private boolean makeRoom(long sizeBytes) {
        long held = tree.pinnedBytes() + tailBytes + reservedBytes + incomingBytes;
        if (sizeBytes > capacityBytes - held) {
            return false;
        }
        long free = capacityBytes - usedBytes();
        if (sizeBytes > free) {
            evict(sizeBytes - free);
        }
        return true;
    }

    /// Everything that counts against the capacity.
    long usedBytes() {
        return tree.totalBytes() + tailBytes + reservedBytes + incomingBytes;
    }

    long capacityBytes() {
        return capacityBytes;
    }

    long tailBytes() {
        return tailBytes;
    }

    /// Reservations and blocks whose put is under way.
    long reservedBytes() {
        return reservedBytes + incomingBytes;
    }
}
