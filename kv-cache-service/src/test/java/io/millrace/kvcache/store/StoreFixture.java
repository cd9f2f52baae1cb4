package io.millrace.kvcache.store;

import com.google.protobuf.ByteString;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.millrace.engine.kv.BlockChecksum;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/// A store of blocks of 10 + 6 bytes, and what tests do with it.
final class StoreFixture {
    static final List<Integer> SECTIONS = List.of(10, 6);
    static final int BLOCK_BYTES = 16;
    static final ByteString NAMESPACE = id(1_000_000);
    static final ByteString OTHER_NAMESPACE = id(2_000_000);

    final FakeClock clock = new FakeClock();
    final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    final BlockStore store;

    StoreFixture(double capacityBlocks) {
        this(capacityBlocks, 1_000);
    }

    StoreFixture(double capacityBlocks, int bufferedEvents) {
        StoreLimits limits = new StoreLimits(
                (long) (capacityBlocks * BLOCK_BYTES),
                bufferedEvents,
                new LeaseLimits(30_000, 300_000, 100, 50, 3),
                new RequestLimits(1_000, 1_000, 10, 1_000, 100));
        this.store = new BlockStore(limits, clock, 1_000, new StoreMeters(meters));
    }

    static ByteString id(int number) {
        byte[] bytes = new byte[32];
        Arrays.fill(bytes, (byte) (number % 251));
        bytes[0] = (byte) number;
        bytes[1] = (byte) (number >>> 8);
        bytes[2] = (byte) (number >>> 16);
        bytes[3] = (byte) (number >>> 24);
        return ByteString.copyFrom(bytes);
    }

    static List<ByteString> ids(int... numbers) {
        List<ByteString> ids = new ArrayList<>();
        for (int number : numbers) {
            ids.add(id(number));
        }
        return ids;
    }

    static LeaseTerms terms(String lease, String holder) {
        return new LeaseTerms(lease, holder, TimeUnit.SECONDS.toNanos(30));
    }

    int match(String lease, String holder, ByteString... chain) {
        return store.match(terms(lease, holder), NAMESPACE, List.of(chain));
    }

    PutSession open(String lease, String holder) {
        return store.openPut(new PutTerms(lease, holder, NAMESPACE, SECTIONS));
    }

    static void send(PutSession put, ByteString id, ByteString parent) {
        put.begin(new BlockTerms(id, parent, false, 64));
        sections(put, id);
    }

    static ByteString sendTail(PutSession put, String lease, int index) {
        ByteString id = ByteString.copyFromUtf8(lease + "/" + index);
        put.begin(new BlockTerms(id, ByteString.EMPTY, true, 7));
        sections(put, id);
        return id;
    }

    static void sections(PutSession put, ByteString id) {
        put.section(id, 0, section(id, 0));
        put.section(id, 1, section(id, 1));
    }

    static Section section(ByteString id, int index) {
        byte[] data = new byte[SECTIONS.get(index)];
        Arrays.fill(data, (byte) (id.byteAt(0) + index));
        return new Section(ByteString.copyFrom(data), BlockChecksum.crc32c(id.toByteArray(), index, data));
    }

    /// Puts a chain, the namespace before its first block.
    PutCounts putChain(String lease, String holder, ByteString... chain) {
        PutSession put = open(lease, holder);
        ByteString parent = NAMESPACE;
        for (ByteString id : chain) {
            send(put, id, parent);
            parent = id;
        }
        return put.finish();
    }

    boolean has(ByteString id) {
        return store.core().tree.find(id) != null;
    }

    double count(String name, String... tags) {
        return meters.find(name).tags(tags).counters().stream()
                .mapToDouble(counter -> counter.count())
                .sum();
    }

    /// Fails if the store contradicts itself.
    void checkInvariants() {
        store.core().locked(() -> {
            PrefixTree tree = store.core().tree;
            long total = 0;
            long pinned = 0;
            int pinnedBlocks = 0;
            int evictableLeaves = 0;
            Set<TreeNode> seen = Collections.newSetFromMap(new IdentityHashMap<>());
            IdentityHashMap<TreeNode, Integer> children = new IdentityHashMap<>();
            IdentityHashMap<TreeNode, Integer> pins = new IdentityHashMap<>();
            for (TreeNode node : tree.nodes()) {
                TreeNode parent = node.parent;
                require(parent == null || seen.contains(parent), "a parent is in the tree, before its children");
                require(parent == null || parent.pins >= node.pins, "what is above a pinned block is pinned");
                require(parent == null || parent.namespace().equals(node.namespace()), "one namespace per chain");
                seen.add(node);
                if (parent != null) {
                    children.merge(parent, 1, Integer::sum);
                }
                total += node.sizeBytes;
                if (node.pins > 0) {
                    pinned += node.sizeBytes;
                    pinnedBlocks++;
                }
                evictableLeaves += node.evictable() ? 1 : 0;
            }
            long tails = 0;
            for (Lease lease : store.core().leases.all()) {
                require(!lease.ended && !lease.holders.isEmpty(), "a standing lease has a holder");
                tails += lease.tailBytes;
                for (TreeNode node : tree.nodes()) {
                    if (lease.pins().contains(node)) {
                        pins.merge(node, 1, Integer::sum);
                    }
                }
            }
            for (TreeNode node : tree.nodes()) {
                require(children.getOrDefault(node, 0) == node.children, "children are counted");
                require(pins.getOrDefault(node, 0) == node.pins, "pins are the leases' and the running puts'");
            }
            require(tree.totalBytes() == total, "total");
            require(tree.pinnedBytes() == pinned, "evictable + pinned = total");
            require(tree.pinnedBlocks() == pinnedBlocks, "pinned blocks");
            require(tree.evictableLeaves() == evictableLeaves, "every unpinned leaf can be evicted, nothing else");
            Room room = store.core().room;
            require(room.tailBytes() == tails, "tails");
            require(room.usedBytes() <= room.capacityBytes(), "the capacity is never exceeded");
            require(room.reservedBytes() >= 0, "reservations");
        });
    }

    private static void require(boolean holds, String invariant) {
        if (!holds) {
            throw new AssertionError("broken: " + invariant);
        }
    }
}
