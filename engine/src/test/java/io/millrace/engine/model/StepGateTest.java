package io.millrace.engine.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class StepGateTest {
    private final StepGate gate = new StepGate();
    private final List<StepPriority> order = Collections.synchronizedList(new ArrayList<>());

    private Thread waiter(StepPriority priority) {
        Thread thread = Thread.ofPlatform().start(() -> {
            try (StepGate.Turn _ = gate.enter(priority)) {
                order.add(priority);
            }
        });
        while (thread.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        return thread;
    }

    @Test
    void decodeGoesFirstAndPrefillIsNotStarved() throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        try (StepGate.Turn _ = gate.enter(StepPriority.PREFILL)) {
            threads.add(waiter(StepPriority.PREFILL));
            for (int i = 0; i < 2 * StepGate.DECODE_TURNS; i++) {
                threads.add(waiter(StepPriority.DECODE));
            }
        }
        for (Thread thread : threads) {
            thread.join();
        }
        List<StepPriority> expected = new ArrayList<>(Collections.nCopies(StepGate.DECODE_TURNS, StepPriority.DECODE));
        expected.add(StepPriority.PREFILL);
        expected.addAll(Collections.nCopies(StepGate.DECODE_TURNS, StepPriority.DECODE));
        assertThat(order).isEqualTo(expected);
    }

    @Test
    void oneStepAtATime() throws InterruptedException {
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 4; t++) {
            StepPriority priority = t % 2 == 0 ? StepPriority.DECODE : StepPriority.PREFILL;
            threads.add(Thread.ofPlatform().start(() -> {
                for (int i = 0; i < 2_000; i++) {
                    try (StepGate.Turn _ = gate.enter(priority)) {
                        most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                        inside.decrementAndGet();
                    }
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join(TimeUnit.SECONDS.toMillis(20));
            assertThat(thread.isAlive()).isFalse();
        }
        assertThat(most.get()).isEqualTo(1);
    }

    @Test
    void aTurnIsGivenBackOnce() {
        StepGate.Turn turn = gate.enter(StepPriority.DECODE);
        turn.close();
        assertThatIllegalStateException().isThrownBy(turn::close);
    }
}
