package io.millrace.kvcache.store;

import static io.millrace.kvcache.store.StoreFixture.BLOCK_BYTES;
import static io.millrace.kvcache.store.StoreFixture.NAMESPACE;
import static io.millrace.kvcache.store.StoreFixture.id;
import static io.millrace.kvcache.store.StoreFixture.terms;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/// Random operations on the store and on [NaiveCache] give the same answers and leave the same state. The seed is in
/// every message; `-Dmillrace.seed=N` replays it.
class BlockStorePropertyTest {
    private static final int CAPACITY_BLOCKS = 24;
    private static final int SEQUENCES = 60;
    private static final int OPERATIONS = 250;
    private static final List<String> LEASES = List.of("a", "b", "c", "d");
    private static final List<String> HOLDERS = List.of("p", "q", "r");

    private final List<String> done = new ArrayList<>();
    private StoreFixture fixture = new StoreFixture(CAPACITY_BLOCKS);
    private NaiveCache model = new NaiveCache(NAMESPACE, CAPACITY_BLOCKS);
    private Random random = new Random();

    @Test
    void randomOperationsAgreeWithANaiveModel() {
        Long replay = Long.getLong("millrace.seed");
        for (int i = 0; i < SEQUENCES; i++) {
            long seed = replay != null ? replay : 20_260_000L + i;
            run(seed);
        }
    }

    private void run(long seed) {
        random = new Random(seed);
        fixture = new StoreFixture(CAPACITY_BLOCKS);
        model = new NaiveCache(NAMESPACE, CAPACITY_BLOCKS);
        done.clear();
        for (int i = 0; i < OPERATIONS; i++) {
            step();
            String trace = "seed " + seed + ", after " + done.subList(Math.max(0, done.size() - 8), done.size());
            assertThat(stored()).as(trace).isEqualTo(model.nodes.keySet());
            assertThat(pinned()).as(trace).isEqualTo(model.pinned());
            StoreStats stats = fixture.store.stats();
            assertThat(stats.leases()).as(trace).isEqualTo(model.leases.size());
            assertThat(stats.tailBytes()).as(trace).isEqualTo((long) model.tails() * BLOCK_BYTES);
            assertThat(stats.usedBytes()).as(trace).isEqualTo((long) model.used() * BLOCK_BYTES);
            fixture.checkInvariants();
        }
    }

    private void step() {
        String lease = pick(LEASES);
        String holder = pick(HOLDERS);
        BlockStore store = fixture.store;
        // Both sides see expiry at the same moment.
        store.expireLeases();
        model.tick();
        boolean held = model.leases.containsKey(lease)
                && store.leases().stream()
                        .anyMatch(view ->
                                view.id().equals(lease) && view.holders().contains(holder));
        switch (random.nextInt(12)) {
            case 0, 1, 2 -> {
                List<ByteString> chain = chain();
                say("match " + lease + " " + chain.size());
                same(store.match(terms(lease, holder), NAMESPACE, chain), model.match(lease, holder, chain));
            }
            case 3, 4, 5 -> put(Optional.empty(), lease, holder);
            case 6 -> {
                if (held) {
                    put(Optional.of(lease), lease, holder);
                    tail(lease, holder);
                }
            }
            case 7 -> {
                List<ByteString> chain = chain();
                say("pin " + lease);
                same(store.pin(terms(lease, holder), chain), model.pin(lease, holder, chain));
            }
            case 8 -> {
                say("release " + lease + " " + holder);
                String who = random.nextInt(3) == 0 ? "" : holder;
                store.release(lease, who);
                model.release(lease, who);
            }
            case 9 -> {
                int blocks = random.nextInt(4);
                say("evict " + blocks);
                same(store.evict((long) blocks * BLOCK_BYTES), (long) model.evict(blocks) * BLOCK_BYTES);
            }
            case 10 -> {
                if (random.nextInt(4) == 0) {
                    say("lost " + holder);
                    store.holderConnected(holder);
                    store.holderLost(holder);
                    model.holderLost(holder);
                } else if (held) {
                    int blocks = random.nextInt(6);
                    say("reserve " + lease + " " + blocks);
                    same(reserve(lease, blocks), model.reserve(lease, blocks));
                }
            }
            default -> {
                int millis = random.nextInt(20_000);
                say("time " + millis);
                fixture.clock.advanceMillis(millis);
                model.millis += millis;
                store.expireLeases();
                model.tick();
            }
        }
    }

    private void put(Optional<String> leaseName, String lease, String holder) {
        List<ByteString> chain = chain();
        int complete = random.nextInt(chain.size() + 1);
        boolean breaks = random.nextBoolean();
        say("put " + leaseName + " " + complete + " of " + chain.size() + (breaks ? " breaks" : ""));
        PutSession put = leaseName.isPresent() ? fixture.open(lease, holder) : fixture.open("", "");
        ByteString parent = NAMESPACE;
        for (ByteString id : chain.subList(0, complete)) {
            StoreFixture.send(put, id, parent);
            parent = id;
        }
        PutCounts expected = model.put(leaseName, chain, complete);
        if (breaks) {
            put.abort();
        } else {
            same(put.finish(), expected);
        }
    }

    private void tail(String lease, String holder) {
        int index = random.nextInt(2);
        say("tail " + lease + " " + index);
        PutSession put = fixture.open(lease, holder);
        ByteString id = StoreFixture.sendTail(put, lease, index);
        boolean stored = put.finish().stored() == 1;
        same(stored, model.putTail(lease, id));
    }

    private boolean reserve(String lease, int blocks) {
        try {
            fixture.store.reserve(lease, (long) blocks * BLOCK_BYTES);
            return true;
        } catch (MillraceException e) {
            assertThat(e.code()).isEqualTo(ErrorCode.CACHE_FULL);
            return false;
        }
    }

    /// A path in a tree with three branches at each fork: chains share beginnings.
    private List<ByteString> chain() {
        List<ByteString> chain = new ArrayList<>();
        int length = 1 + random.nextInt(6);
        int path = 1;
        for (int i = 0; i < length; i++) {
            path = path * 3 + random.nextInt(3);
            chain.add(id(path));
        }
        return chain;
    }

    private Set<ByteString> stored() {
        Set<ByteString> ids = new HashSet<>();
        fixture.store.core().locked(() -> fixture.store.core().tree.nodes().forEach(node -> ids.add(node.id())));
        return ids;
    }

    private Set<ByteString> pinned() {
        Set<ByteString> ids = new HashSet<>();
        fixture.store
                .core()
                .locked(() -> fixture.store.core().tree.nodes().stream()
                        .filter(node -> node.pins > 0)
                        .forEach(node -> ids.add(node.id())));
        return ids;
    }

    private String pick(List<String> names) {
        return names.get(random.nextInt(names.size()));
    }

    private void say(String operation) {
        done.add(operation);
    }

    private void same(Object got, Object expected) {
        assertThat(got).as("%s", done.getLast()).isEqualTo(expected);
    }
}
