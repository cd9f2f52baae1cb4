package io.millrace.kvcache.store;

import com.google.protobuf.ByteString;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/// What the store should do, written to be obviously right: everything is recomputed from plain sets each time.
/// Sizes count blocks.
final class NaiveCache {
    /// @param parent  the namespace for the first
    record Node(ByteString id, ByteString parent, int born, int used) {}

    static final class Claim {
        final Set<String> holders = new TreeSet<>();
        final Set<ByteString> pinned = new HashSet<>();
        final Set<ByteString> tails = new HashSet<>();
        long expiresAtMillis;
        int reserved;
    }

    final Map<ByteString, Node> nodes = new LinkedHashMap<>();
    final Map<String, Claim> leases = new TreeMap<>();
    final Set<ByteString> putPins = new HashSet<>();
    private final ByteString namespace;
    private final int capacity;
    private int incoming;
    private int born;
    private int now;
    long millis;

    NaiveCache(ByteString namespace, int capacity) {
        this.namespace = namespace;
        this.capacity = capacity;
    }

    void tick() {
        now++;
        for (String name : List.copyOf(leases.keySet())) {
            if (lease(name).expiresAtMillis <= millis) {
                end(name);
            }
        }
    }

    private Claim lease(String name) {
        Claim claim = leases.get(name);
        if (claim == null) {
            throw new AssertionError("no lease " + name);
        }
        return claim;
    }

    private Node node(ByteString id) {
        Node node = nodes.get(id);
        if (node == null) {
            throw new AssertionError("no block");
        }
        return node;
    }

    Claim open(String name, String holder, long durationMillis) {
        Claim claim = leases.computeIfAbsent(name, _ -> new Claim());
        claim.holders.add(holder);
        claim.expiresAtMillis = millis + durationMillis;
        return claim;
    }

    int match(String name, String holder, List<ByteString> chain) {
        tick();
        Claim claim = open(name, holder, 30_000);
        int found = 0;
        while (found < chain.size() && nodes.containsKey(chain.get(found))) {
            use(chain.get(found));
            claim.pinned.add(chain.get(found));
            found++;
        }
        return found;
    }

    int pin(String name, String holder, List<ByteString> ids) {
        tick();
        Claim claim = open(name, holder, 30_000);
        int found = 0;
        for (ByteString id : ids) {
            if (nodes.containsKey(id)) {
                use(id);
                pinUp(claim.pinned, id);
                found++;
            } else if (claim.tails.contains(id)) {
                found++;
            }
        }
        return found;
    }

    boolean reserve(String name, int blocks) {
        tick();
        Claim claim = lease(name);
        if (blocks > claim.reserved && !makeRoom(blocks - claim.reserved)) {
            return false;
        }
        claim.reserved = blocks;
        return true;
    }

    int evict(int blocks) {
        tick();
        int gone = 0;
        while (gone < blocks && evictOne()) {
            gone++;
        }
        return gone;
    }

    void release(String name, String holder) {
        tick();
        if (!leases.containsKey(name)) {
            return;
        }
        boolean last = lease(name).holders.remove(holder) && lease(name).holders.isEmpty();
        if (holder.isEmpty() || last) {
            end(name);
        }
    }

    void holderLost(String holder) {
        tick();
        for (String name : List.copyOf(leases.keySet())) {
            if (lease(name).holders.remove(holder) && lease(name).holders.isEmpty()) {
                end(name);
            }
        }
    }

    /// Puts a chain block by block; gives up after `complete` of them.
    PutCounts put(Optional<String> leaseName, List<ByteString> chain, int complete) {
        tick();
        int stored = 0;
        int skipped = 0;
        int refused = 0;
        ByteString parent = namespace;
        for (int i = 0; i < Math.min(complete, chain.size()); i++) {
            ByteString id = chain.get(i);
            tick();
            Set<ByteString> pins = leaseName.isPresent() ? lease(leaseName.get()).pinned : putPins;
            if (nodes.containsKey(id)) {
                use(id);
                pinUp(pins, id);
                skipped++;
            } else if (!parent.equals(namespace) && !nodes.containsKey(parent)) {
                skipped++;
                refused++;
            } else {
                if (!parent.equals(namespace)) {
                    pinUp(pins, parent);
                }
                int fromReservation = leaseName.isPresent() ? Math.min(1, lease(leaseName.get()).reserved) : 0;
                if (makeRoom(1 - fromReservation)) {
                    leaseName.ifPresent(name -> lease(name).reserved -= fromReservation);
                    incoming++;
                    tick();
                    incoming--;
                    nodes.put(id, new Node(id, parent, born++, now));
                    pinUp(pins, id);
                    stored++;
                } else {
                    skipped++;
                    refused++;
                }
            }
            parent = id;
        }
        tick();
        putPins.forEach(this::use);
        putPins.clear();
        leaseName.ifPresent(name -> lease(name).reserved = 0);
        return new PutCounts(stored, skipped, refused);
    }

    boolean putTail(String name, ByteString id) {
        tick();
        tick();
        Claim claim = lease(name);
        int fromReservation = Math.min(1, claim.reserved);
        boolean stored = !claim.tails.contains(id) && makeRoom(1 - fromReservation);
        if (stored) {
            tick();
            claim.tails.add(id);
        }
        claim.reserved = 0;
        tick();
        return stored;
    }

    Set<ByteString> pinned() {
        Set<ByteString> all = new HashSet<>(putPins);
        leases.values().forEach(claim -> all.addAll(claim.pinned));
        return all;
    }

    int tails() {
        return leases.values().stream().mapToInt(claim -> claim.tails.size()).sum();
    }

    int used() {
        return nodes.size() + held() - pinned().size();
    }

    private int held() {
        int reserved =
                leases.values().stream().mapToInt(claim -> claim.reserved).sum();
        return pinned().size() + tails() + reserved + incoming;
    }

    private boolean makeRoom(int blocks) {
        if (held() + blocks > capacity) {
            return false;
        }
        while (used() + blocks > capacity) {
            if (!evictOne()) {
                throw new AssertionError("nothing left to evict");
            }
        }
        return true;
    }

    private boolean evictOne() {
        Set<ByteString> keep = pinned();
        nodes.values().forEach(node -> keep.add(node.parent()));
        Stream<Node> leaves = nodes.values().stream().filter(node -> !keep.contains(node.id()));
        Optional<Node> oldest = leaves.min(Comparator.comparingInt(Node::used).thenComparingInt(Node::born));
        oldest.ifPresent(node -> nodes.remove(node.id()));
        return oldest.isPresent();
    }

    private void end(String name) {
        Claim claim = lease(name);
        leases.remove(name);
        claim.pinned.forEach(this::use);
    }

    private void use(ByteString id) {
        Node node = node(id);
        nodes.replace(id, new Node(id, node.parent(), node.born(), now));
    }

    private void pinUp(Set<ByteString> pins, ByteString id) {
        for (ByteString up = id; !up.equals(namespace); up = node(up).parent()) {
            pins.add(up);
        }
    }
}
