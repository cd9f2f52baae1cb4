package io.millrace.gateway.router;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.proto.v1.DescribeResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class InstancePoolTest {
    private static final int ROUNDS = 20_000;

    private final InstancePool pool = new InstancePool(
            "decode-service",
            List.of("127.0.0.1:1", "127.0.0.1:2"),
            (_, _) -> DescribeResponse.getDefaultInstance(),
            Duration.ofSeconds(1));

    @BeforeEach
    void ask() {
        pool.refresh();
    }

    @AfterEach
    void close() {
        pool.close();
    }

    @Test
    void callsThatBeginAtTheSameMomentGoToDifferentInstances() {
        CyclicBarrier together = new CyclicBarrier(2);
        CompletableFuture<Integer> one = CompletableFuture.supplyAsync(() -> crowdedRounds(together));
        CompletableFuture<Integer> other = CompletableFuture.supplyAsync(() -> crowdedRounds(together));

        assertThat(one.join() + other.join()).isZero();
    }

    /// How often two calls were at one instance while the other had none.
    private int crowdedRounds(CyclicBarrier together) {
        int crowded = 0;
        try {
            for (int i = 0; i < ROUNDS; i++) {
                together.await();
                try (ServingInstance.Call call = pool.begin(_ -> true, Set.of()).orElseThrow()) {
                    together.await();
                    crowded += call.instance().outstanding() > 1 ? 1 : 0;
                    together.await();
                }
            }
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException(e);
        }
        return crowded;
    }

    @Test
    void instancesThatHaveNothingToDoTakeTurns() {
        List<ServingInstance> called = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            try (ServingInstance.Call call = pool.begin(_ -> true, Set.of()).orElseThrow()) {
                called.add(call.instance());
            }
        }

        assertThat(called.subList(0, 2)).doesNotHaveDuplicates();
        assertThat(called.subList(2, 4)).isEqualTo(called.subList(0, 2));
    }

    @Test
    void avoidedOnesAreCalledOnlyWhereThereIsNoOther() {
        try (ServingInstance.Call first = pool.begin(_ -> true, Set.of()).orElseThrow()) {
            ServingInstance failed = first.instance();
            try (ServingInstance.Call second =
                            pool.begin(_ -> true, Set.of(failed)).orElseThrow();
                    ServingInstance.Call third =
                            pool.begin(failed::equals, Set.of(failed)).orElseThrow()) {
                assertThat(second.instance()).isNotEqualTo(failed);
                assertThat(third.instance()).isEqualTo(failed);
            }
        }
        assertThat(pool.ready()).allMatch(instance -> instance.outstanding() == 0);
    }
}
