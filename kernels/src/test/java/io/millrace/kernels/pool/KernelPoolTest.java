package io.millrace.kernels.pool;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class KernelPoolTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 8})
    void runsEveryChunkExactlyOnceInManyRuns(int threads) {
        try (KernelPool pool = started(threads)) {
            for (int run = 0; run < 3000; run++) {
                int chunks = run % 37;
                AtomicIntegerArray hits = new AtomicIntegerArray(37);
                pool.run((chunk, worker) -> hits.incrementAndGet(chunk), chunks);
                for (int i = 0; i < hits.length(); i++) {
                    assertThat(hits.get(i)).isEqualTo(i < chunks ? 1 : 0);
                }
            }
        }
    }

    @Test
    void runsMoreChunksThanOneTicketHolds() {
        try (KernelPool pool = started(2)) {
            AtomicIntegerArray hits = new AtomicIntegerArray(150_000);
            pool.run((chunk, worker) -> hits.incrementAndGet(chunk), hits.length());
            for (int i = 0; i < hits.length(); i++) {
                assertThat(hits.get(i)).isEqualTo(1);
            }
        }
    }

    @Test
    void givesWorkerNumbersBelowItsThreads() {
        try (KernelPool pool = started(3)) {
            AtomicIntegerArray workers = new AtomicIntegerArray(3);
            pool.run((chunk, worker) -> workers.incrementAndGet(worker), 10_000);
            assertThat(workers.get(0) + workers.get(1) + workers.get(2)).isEqualTo(10_000);
        }
    }

    @Test
    void aThreadTakesItsShareInOrderAndThenTheLastOfOthers() {
        assertThat(takenWhileTheCallerStaysInItsFirstChunk(8)).containsExactly(4, 5, 6, 7, 3, 2, 1);
    }

    // A quarter of the caller's share of 16 is claimed with its first chunk; the rest is for whoever has time.
    @Test
    void aThreadLeavesMostOfItsShareToOthers() {
        assertThat(takenWhileTheCallerStaysInItsFirstChunk(32))
                .startsWith(16, 17, 18, 19)
                .endsWith(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4)
                .hasSize(28);
    }

    /// What the one worker takes, in order, from when the caller has begun until nothing is left to take.
    private static List<Integer> takenWhileTheCallerStaysInItsFirstChunk(int chunks) {
        List<Integer> taken = new CopyOnWriteArrayList<>();
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch others = new CountDownLatch(chunks - Math.max(1, chunks / 8));
        try (KernelPool pool = started(2)) {
            pool.run(
                    (chunk, worker) -> {
                        if (worker == 1) {
                            await(begun);
                            taken.add(chunk);
                            others.countDown();
                        } else {
                            begun.countDown();
                            await(others);
                        }
                    },
                    chunks);
        }
        return taken;
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void throwsTheExceptionOfAChunkAndStaysUsable() {
        try (KernelPool pool = started(2)) {
            PoolTask broken = (chunk, worker) -> {
                if (chunk == 7) {
                    throw new IllegalStateException("chunk seven");
                }
            };
            assertThatThrownBy(() -> pool.run(broken, 16)).hasMessage("chunk seven");
            AtomicIntegerArray hits = new AtomicIntegerArray(16);
            pool.run((chunk, worker) -> hits.incrementAndGet(chunk), 16);
            assertThat(hits.get(15)).isEqualTo(1);
        }
    }

    @Test
    void refusesARunInsideARun() {
        try (KernelPool pool = started(2)) {
            assertThatThrownBy(() -> pool.run((chunk, worker) -> pool.run((c, w) -> {}, 1), 1))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("one call at a time");
        }
    }

    @Test
    void startsNoThreadBeforeStartAndNoneAfterClose() {
        KernelPool pool = new KernelPool(4);
        AtomicIntegerArray workers = new AtomicIntegerArray(4);
        pool.run((chunk, worker) -> workers.incrementAndGet(worker), 100);
        assertThat(workers.get(0)).isEqualTo(100);
        pool.start();
        pool.start();
        pool.close();
        pool.close();
        assertThatThrownBy(() -> pool.run((chunk, worker) -> {}, 1)).hasMessage("kernel pool is closed");
        assertThatThrownBy(pool::start).isInstanceOf(IllegalStateException.class);
    }

    private static KernelPool started(int threads) {
        KernelPool pool = new KernelPool(threads);
        pool.start();
        return pool;
    }
}
