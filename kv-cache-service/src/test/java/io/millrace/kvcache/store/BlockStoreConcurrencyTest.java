package io.millrace.kvcache.store;

import static io.millrace.kvcache.store.StoreFixture.NAMESPACE;
import static io.millrace.kvcache.store.StoreFixture.id;
import static io.millrace.kvcache.store.StoreFixture.terms;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class BlockStoreConcurrencyTest {
    private static final int THREADS = 8;
    private static final int ROUNDS = 1_500;

    private final StoreFixture fixture = new StoreFixture(40);
    private final BlockStore store = fixture.store;
    private final AtomicLong fetched = new AtomicLong();

    @Test
    void putsMatchesFetchesAndEvictionsTogetherNeverGiveForeignBytes() throws Exception {
        List<Future<?>> running = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            for (int t = 0; t < THREADS; t++) {
                int thread = t;
                running.add(threads.submit(() -> work(thread, new Random(40 + thread))));
            }
            for (Future<?> one : running) {
                one.get(60, TimeUnit.SECONDS);
            }
        }
        fixture.checkInvariants();
        assertThat(store.leases()).isEmpty();
        StoreStats stats = store.stats();
        assertThat(stats.pinnedBlocks()).isZero();
        assertThat(stats.reservedBytes()).isZero();
        assertThat(stats.tailBytes()).isZero();
        assertThat(fetched.get()).as("the test fetched something").isGreaterThan(1_000);
        assertThat(store.evict(Long.MAX_VALUE)).isEqualTo(stats.usedBytes());
        assertThat(store.stats().usedBytes()).isZero();
    }

    private void work(int thread, Random random) {
        String holder = "holder-" + thread;
        for (int round = 0; round < ROUNDS; round++) {
            String lease = thread + "-" + round;
            List<ByteString> chain = chain(random);
            int matched = store.match(terms(lease, holder), NAMESPACE, chain);
            fetch(lease, holder, chain.subList(0, matched));
            PutSession put = fixture.open(lease, holder);
            ByteString parent = NAMESPACE;
            for (ByteString id : chain) {
                StoreFixture.send(put, id, parent);
                parent = id;
            }
            if (random.nextInt(5) == 0) {
                put.abort();
            } else if (put.finish().refused() == 0) {
                fetch(lease, holder, chain);
            }
            if (random.nextInt(20) == 0) {
                store.evict(50);
            }
            StoreStats stats = store.stats();
            assertThat(stats.usedBytes()).isLessThanOrEqualTo(stats.capacityBytes());
            if (random.nextInt(10) == 0) {
                store.holderLost(holder);
            } else {
                store.release(lease, random.nextBoolean() ? holder : "");
            }
        }
    }

    private void fetch(String lease, String holder, List<ByteString> ids) {
        FetchPlan plan;
        try {
            plan = store.openFetch(lease, holder, NAMESPACE, ids);
        } catch (MillraceException e) {
            throw new AssertionError("what is leased can be fetched: " + e.code(), e);
        }
        for (int i = 0; i < ids.size(); i++) {
            StoredBlock block = plan.blocks().get(i);
            assertThat(block.id()).isEqualTo(ids.get(i));
            assertThat(block.sections().get(1)).isEqualTo(StoreFixture.section(ids.get(i), 1));
            fetched.incrementAndGet();
        }
        if (!store.stillStands(plan)) {
            throw new AssertionError(ErrorCode.LEASE_EXPIRED.wireName());
        }
    }

    private static List<ByteString> chain(Random random) {
        List<ByteString> chain = new ArrayList<>();
        int path = 1;
        for (int i = 0; i < 1 + random.nextInt(4); i++) {
            path = path * 4 + random.nextInt(4);
            chain.add(id(path));
        }
        return chain;
    }
}
