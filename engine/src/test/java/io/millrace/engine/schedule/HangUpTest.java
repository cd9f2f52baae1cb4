package io.millrace.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.MillraceException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/// Clients that go away leave nothing behind, whenever they go.
class HangUpTest {
    private static final long SEED = Long.getLong("millrace.test.seed", 20_261);
    private static final int PAGES = 12;
    private static final int ROUNDS = 60;
    private static final int CLIENTS = 10;

    /// Goes away while it waits for pages, imports, or computes its prompt.
    private static void hangUp(EngineLoop loop, Random random) {
        int[] prompt = Requests.tokens(random, 1 + random.nextInt(390), FakeSteps.VOCAB);
        long patienceNanos = random.nextInt(2_000_000);
        boolean starts = random.nextInt(4) != 0;
        try (Reservation reservation = loop.reserve(Requests.prefill(prompt))) {
            if (starts) {
                SequenceHandle handle = reservation.start(Handover.nothing(), new Recorder(0));
                LockSupport.parkNanos(patienceNanos);
                handle.cancel();
            } else {
                LockSupport.parkNanos(patienceNanos);
            }
        } catch (MillraceException e) {
            assertThat(e.code().name()).isIn("CANCELLED", "QUEUE_FULL");
        }
    }

    @Test
    @Timeout(60)
    void anIdleLoopAdmitsAtOnceAfterAnyHangUps() throws Exception {
        Random random = new Random(SEED);
        var settings = new LoopSettings(4, 8, 64, 20, null);
        try (EngineLoop loop = new EngineLoop(new FakeSteps(PAGES), settings, EngineRole.PREFILL, System::nanoTime);
                ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor()) {
            loop.start();
            for (int round = 0; round < ROUNDS; round++) {
                List<Future<?>> calls = new ArrayList<>();
                for (int i = 0; i < CLIENTS; i++) {
                    Random own = new Random(random.nextLong());
                    calls.add(clients.submit(() -> hangUp(loop, own)));
                }
                for (Future<?> call : calls) {
                    if (random.nextBoolean()) {
                        LockSupport.parkNanos(random.nextInt(300_000));
                        call.cancel(true);
                    }
                }
                for (Future<?> call : calls) {
                    if (!call.isCancelled()) {
                        call.get();
                    }
                }
                String name = "millrace.test.seed=" + SEED + ", round " + round;
                Recorder recorder = new Recorder(0);
                admitted(loop, name).start(Handover.nothing(), recorder);
                recorder.finish();
            }
        }
    }

    /// The whole pool; once everybody has gone only the step under way can be in the way.
    private static Reservation admitted(EngineLoop loop, String name) {
        return admitted(loop, Requests.prefill(Requests.tokens(new Random(1), 390, FakeSteps.VOCAB)), name);
    }

    /// Asks again where a busy machine kept the loop's thread from looking in time.
    private static Reservation admitted(EngineLoop loop, SequenceRequest request, String name) {
        long giveUpNanos = System.nanoTime() + 2_000_000_000L;
        while (true) {
            try {
                return loop.reserve(request);
            } catch (MillraceException e) {
                assertThat(System.nanoTime()).as("%s: %s", name, e.getMessage()).isLessThan(giveUpNanos);
            }
        }
    }

    @Test
    void refusalSaysWhoHoldsThePages() {
        var settings = new LoopSettings(4, 8, 64, 20, null);
        try (EngineLoop loop = new EngineLoop(new FakeSteps(7), settings, EngineRole.PREFILL, System::nanoTime)) {
            loop.start();
            try (Reservation held = admitted(loop, Requests.of(new int[300], 5), "an idle loop")) {
                assertThat(held.blocks()).isEqualTo(5);
                assertThatThrownBy(() -> loop.reserve(Requests.of(new int[200], 5)))
                        .hasMessage("no pages became free within 20 ms (needed: 4; held: 5 of 7, by 0 running sequences"
                                + " and 1 still importing; places taken: 1 of 4)");
            }
        }
    }

    @Test
    void refusalSaysThatPlacesAreMissingWherePagesAreNot() {
        var settings = new LoopSettings(1, 8, 64, 20, null);
        try (EngineLoop loop = new EngineLoop(new FakeSteps(7), settings, EngineRole.PREFILL, System::nanoTime)) {
            loop.start();
            try (Reservation held = admitted(loop, Requests.of(new int[300], 5), "an idle loop")) {
                assertThat(held.blocks()).isEqualTo(5);
                assertThatThrownBy(() -> loop.reserve(Requests.of(new int[20], 5)))
                        .hasMessage("no place became free within 20 ms (all 1 are taken, by 0 running sequences and 1"
                                + " still importing; pages needed: 1; held: 5 of 7)");
            }
        }
    }

    @Test
    void refusalSaysThatAStepIsUnderWay() {
        var model = new FakeSteps(PAGES);
        CountDownLatch step = new CountDownLatch(1);
        model.hold(step);
        var settings = new LoopSettings(4, 8, 64, 20, null);
        try (EngineLoop loop = new EngineLoop(model, settings, EngineRole.PREFILL, System::nanoTime)) {
            loop.start();
            Recorder recorder = new Recorder(0);
            admitted(loop, Requests.of(new int[30], 1), "an idle loop").start(Handover.nothing(), recorder);
            model.awaitStep();
            assertThatThrownBy(() -> loop.reserve(Requests.of(new int[20], 5)))
                    .hasMessageMatching("not admitted within 20 ms: the engine loop has been in a step of 30 rows"
                            + " for \\d+ ms");
            step.countDown();
            recorder.finish();
        }
    }
}
