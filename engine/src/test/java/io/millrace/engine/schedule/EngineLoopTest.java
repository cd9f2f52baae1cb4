package io.millrace.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.logging.RecordedLog;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class EngineLoopTest {
    private static final int PAGES = 24;

    private final Random random = new Random(7);

    private static EngineLoop loop(FakeSteps model, int sequences, int waiting, int stepTokens, int waitMillis) {
        var settings = new LoopSettings(sequences, waiting, stepTokens, waitMillis, null);
        var loop = new EngineLoop(model, settings, EngineRole.DECODE, System::nanoTime);
        loop.start();
        return loop;
    }

    private static EngineLoop loop(FakeSteps model) {
        return loop(model, 8, 8, 32, 10_000);
    }

    private static Recorder run(EngineLoop loop, SequenceRequest request) {
        Recorder recorder = new Recorder(request.generatedTokens());
        loop.reserve(request).start(Handover.nothing(), recorder);
        return recorder;
    }

    private int[] prompt(int tokens) {
        return Requests.tokens(random, tokens, FakeSteps.VOCAB);
    }

    @Test
    void allPagesAreFreeBeforeTheFirstRequest() {
        FakeSteps model = new FakeSteps(PAGES);
        var loop = new EngineLoop(model, new LoopSettings(8, 8, 32, 10_000, null), EngineRole.DECODE, System::nanoTime);
        assertThat(loop.stats().freePages()).isEqualTo(PAGES);
        assertThat(loop.stats().pages()).isEqualTo(PAGES);
    }

    @Test
    void sequencesRideInOneBatch() {
        var model = new FakeSteps(PAGES);
        CountDownLatch allStarted = new CountDownLatch(1);
        model.hold(allStarted);
        try (EngineLoop loop = loop(model)) {
            List<Reservation> reservations = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                reservations.add(loop.reserve(Requests.of(prompt(20), 100)));
            }
            List<Recorder> recorders = new ArrayList<>();
            for (Reservation reservation : reservations) {
                Recorder recorder = new Recorder(0);
                recorders.add(recorder);
                reservation.start(Handover.nothing(), recorder);
            }
            allStarted.countDown();
            recorders.forEach(Recorder::finish);
            // 800 tokens one by one would take 800 steps.
            assertThat(loop.stats().steps()).isLessThan(130);
            assertThat(model.stepSequences()).contains(8);
            assertThat(loop.stats().freePages()).isEqualTo(PAGES);
        }
    }

    @Test
    void lengthEndsASequenceAtMaxTokens() {
        try (EngineLoop loop = loop(new FakeSteps(PAGES))) {
            Recorder recorder = run(loop, Requests.of(prompt(5), 7));
            assertThat(recorder.finish().cause()).isEqualTo(new FinishCause.Length());
            assertThat(recorder.finish().generatedTokens()).isEqualTo(7);
            assertThat(recorder.finish().promptTokensComputed()).isEqualTo(5);
            assertThat(recorder.ids()).hasSize(7);
        }
    }

    @Test
    void aFullContextEndsASequenceWithLength() {
        try (EngineLoop loop = loop(new FakeSteps(PAGES))) {
            Recorder recorder = run(loop, Requests.of(prompt(FakeSteps.CONTEXT - 3), 100));
            assertThat(recorder.finish().cause()).isEqualTo(new FinishCause.Length());
            assertThat(recorder.ids()).hasSize(3);
        }
    }

    @Test
    void aPoolSmallerThanTheContextIsTheContext() {
        try (EngineLoop loop = loop(new FakeSteps(2))) {
            Recorder recorder = run(loop, Requests.of(prompt(120), 100));
            assertThat(recorder.finish().generatedTokens()).isEqualTo(8);
            assertThat(loop.contextTokens()).isEqualTo(128);
        }
    }

    @Test
    void aStopIdIsTheLastTokenDelivered() {
        int[] prompt = prompt(9);
        try (EngineLoop loop = loop(new FakeSteps(PAGES))) {
            List<Integer> free = finished(run(loop, Requests.of(prompt, 30))).ids();
            int stop = free.get(10);
            Recorder stopped = finished(run(loop, Requests.stoppingAt(prompt, 30, stop)));
            assertThat(stopped.finish().cause()).isEqualTo(new FinishCause.StopId(stop));
            assertThat(stopped.ids()).isEqualTo(free.subList(0, free.indexOf(stop) + 1));
        }
    }

    private static Recorder finished(Recorder recorder) {
        recorder.finish();
        return recorder;
    }

    /// Holds two tokens back, and stops at a given count.
    private static StopCondition holdingTwo(int stopAt) {
        return new StopCondition() {
            private int seen;

            @Override
            public Verdict accept(int id) {
                seen++;
                return seen == stopAt ? new Matched("END", 5) : new Unmatched(Math.max(0, seen - 2));
            }
        };
    }

    @Test
    void tokensHeldBackForAStopStringComeWithTheFinish() {
        int[] prompt = prompt(9);
        try (EngineLoop loop = loop(new FakeSteps(PAGES))) {
            List<Integer> free = finished(run(loop, Requests.of(prompt, 30))).ids();
            Recorder stopped = finished(run(loop, Requests.of(prompt, new int[0], 30, holdingTwo(6))));
            assertThat(stopped.finish().cause()).isEqualTo(new FinishCause.StopString("END", 5));
            assertThat(stopped.ids()).isEqualTo(free.subList(0, 6));
            assertThat(stopped.deliveries).containsExactly(1, 1, 1, 3);
        }
    }

    @Test
    void lengthReleasesWhatAStopStringHeld() {
        try (EngineLoop loop = loop(new FakeSteps(PAGES))) {
            Recorder ended = finished(run(loop, Requests.of(prompt(3), new int[0], 4, holdingTwo(99))));
            assertThat(ended.finish().cause()).isEqualTo(new FinishCause.Length());
            assertThat(ended.ids()).hasSize(4);
        }
    }

    @Test
    void goesOnFromGeneratedTokensWithTheSameOnes() {
        int[] prompt = prompt(70);
        try (EngineLoop loop = loop(new FakeSteps(PAGES))) {
            List<Integer> whole = finished(run(loop, Requests.of(prompt, 40))).ids();
            int[] given =
                    whole.subList(0, 17).stream().mapToInt(Integer::intValue).toArray();
            Recorder rest = finished(run(loop, Requests.of(prompt, given, 40, holdingTwo(99))));
            assertThat(rest.ids()).isEqualTo(whole.subList(17, 40));
        }
    }

    @Test
    void importedBlocksAndTailGiveWhatLocalComputationGives() {
        for (int tokens : new int[] {1, 63, 64, 65, 128, 150}) {
            int[] prompt = prompt(tokens);
            try (EngineLoop loop = loop(new FakeSteps(PAGES));
                    EngineLoop other = loop(new FakeSteps(PAGES))) {
                Recorder local = finished(run(loop, Requests.of(prompt, 100)));
                Recorder prefill = finished(run(loop, Requests.prefill(prompt)));
                Recorder decode = new Recorder(0);
                Reservation reservation = other.reserve(Requests.of(prompt, 100));
                write(prefill, reservation);
                var handover = new Handover(tokens, prefill.boundaryState, prefill.tokens.getFirst());
                reservation.start(handover, decode);
                assertThat(decode.finish().promptTokensComputed()).isZero();
                assertThat(decode.ids()).isEqualTo(local.ids());
                assertThat(decode.tokens).isEqualTo(local.tokens);
                int firstNew = tokens / 64;
                assertThat(decode.blocks.keySet())
                        .isEqualTo(local.blocks.tailMap(firstNew).keySet());
                decode.blocks.forEach((index, sections) -> assertThat(sections).isDeepEqualTo(local.blocks.get(index)));
                assertThat(other.stats().freePages()).isEqualTo(PAGES);
            }
        }
    }

    private static void write(Recorder prefill, Reservation reservation) {
        prefill.blocks.forEach((index, sections) -> writeBlock(reservation, index, sections));
        if (prefill.tailTokens > 0) {
            writeBlock(reservation, reservation.blocks() - 1, prefill.tail);
        }
    }

    private static void writeBlock(Reservation reservation, int block, byte[][] sections) {
        for (int section = 0; section < sections.length; section++) {
            reservation.writeSection(block, section, sections[section]);
        }
    }

    @Test
    void importedWholeBlocksBringTheirBoundaryState() {
        int[] prompt = prompt(150);
        try (EngineLoop loop = loop(new FakeSteps(PAGES))) {
            Recorder local = finished(run(loop, Requests.prefill(prompt)));
            Reservation reservation = loop.reserve(Requests.prefill(prompt));
            writeBlock(reservation, 0, local.blocks.getOrDefault(0, new byte[0][]));
            Recorder hit = new Recorder(0);
            reservation.start(Handover.ofBlocks(64), hit);
            assertThat(hit.finish().promptTokensComputed()).isEqualTo(86);
            assertThat(hit.ids()).isEqualTo(local.ids());
            assertThat(hit.blocks.keySet()).containsExactly(1);
            assertThat(hit.blocks.get(1)).isDeepEqualTo(local.blocks.get(1));
            assertThat(hit.tail).isDeepEqualTo(local.tail);
            assertThat(hit.boundaryState).isEqualTo(local.boundaryState);
        }
    }

    @Test
    void aHandedOverTokenThatStopsEndsAtOnce() {
        int[] prompt = prompt(20);
        try (EngineLoop loop = loop(new FakeSteps(PAGES))) {
            Recorder prefill = finished(run(loop, Requests.prefill(prompt)));
            int first = prefill.ids().getFirst();
            Recorder stopped = new Recorder(0);
            Reservation reservation = loop.reserve(Requests.stoppingAt(prompt, 30, first));
            write(prefill, reservation);
            reservation.start(new Handover(20, prefill.boundaryState, prefill.tokens.getFirst()), stopped);
            assertThat(stopped.finish().cause()).isEqualTo(new FinishCause.StopId(first));
            assertThat(stopped.ids()).containsExactly(first);
            assertThat(loop.stats().freePages()).isEqualTo(PAGES);
        }
    }

    @Test
    void refusesWhatCanNeverFit() {
        try (EngineLoop small = loop(new FakeSteps(2));
                EngineLoop large = loop(new FakeSteps(PAGES))) {
            assertThatExceptionOfType(MillraceException.class)
                    .isThrownBy(() -> small.reserve(Requests.of(prompt(128), 1)))
                    .matches(e -> e.code() == ErrorCode.KV_POOL_EXCEEDED)
                    .withMessageContaining("128");
            assertThatExceptionOfType(MillraceException.class)
                    .isThrownBy(() -> large.reserve(Requests.of(prompt(FakeSteps.CONTEXT), 1)))
                    .matches(e -> e.code() == ErrorCode.CONTEXT_LENGTH_EXCEEDED);
            assertThatExceptionOfType(MillraceException.class)
                    .isThrownBy(() -> large.reserve(Requests.of(new int[] {FakeSteps.VOCAB}, 1)))
                    .matches(e -> e.code() == ErrorCode.INVALID_REQUEST)
                    .withMessageContaining("token id: 61");
        }
    }

    @Test
    void aFullQueueRefusesWithATimeToWait() {
        try (EngineLoop loop = loop(new FakeSteps(PAGES), 2, 0, 16, 10_000)) {
            Reservation first = loop.reserve(Requests.of(prompt(3), 1));
            Reservation second = loop.reserve(Requests.of(prompt(3), 1));
            assertThat(first.blocks() + second.blocks()).isEqualTo(2);
            assertThatExceptionOfType(MillraceException.class)
                    .isThrownBy(() -> loop.reserve(Requests.of(prompt(3), 1)))
                    .matches(e -> e.code() == ErrorCode.QUEUE_FULL)
                    .matches(e -> e.retryAfterMillis() >= RetryEstimate.MIN_MILLIS)
                    .matches(e -> e.retryAfterMillis() <= RetryEstimate.MAX_MILLIS);
            assertThat(loop.stats().refused()).isEqualTo(1);
            second.close();
            finished(run(loop, Requests.of(prompt(3), 1)));
        }
    }

    @Test
    void waitingForPagesIsBounded() {
        try (EngineLoop loop = loop(new FakeSteps(2), 4, 4, 16, 500)) {
            Reservation all = loop.reserve(Requests.of(prompt(127), 1));
            assertThat(all.blocks()).isEqualTo(2);
            assertThatExceptionOfType(MillraceException.class)
                    .isThrownBy(() -> loop.reserve(Requests.of(prompt(3), 1)))
                    .matches(e -> e.code() == ErrorCode.QUEUE_FULL && e.retryAfterMillis() > 0);
            all.close();
            finished(run(loop, Requests.of(prompt(3), 1)));
            assertThat(loop.stats().freePages()).isEqualTo(2);
        }
    }

    @Test
    void anInterruptedWaitLeavesNothingBehind() throws InterruptedException {
        try (EngineLoop loop = loop(new FakeSteps(1))) {
            Reservation all = loop.reserve(Requests.of(prompt(3), 1));
            var refusal = new AtomicReference<RuntimeException>();
            Thread waiting = Thread.startVirtualThread(() -> {
                try {
                    loop.reserve(Requests.of(prompt(3), 1));
                } catch (MillraceException e) {
                    refusal.set(e);
                }
            });
            waiting.interrupt();
            waiting.join();
            assertThat(refusal.get())
                    .isInstanceOfSatisfying(
                            MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.CANCELLED));
            all.close();
            finished(run(loop, Requests.of(prompt(3), 1)));
            assertThat(loop.stats().freePages()).isEqualTo(1);
        }
    }

    @Test
    void cancelFreesThePagesBeforeItIsTold() throws InterruptedException {
        var model = new FakeSteps(PAGES);
        var cancelled = new CountDownLatch(1);
        model.cost(plan -> {
            if (plan.samples(0)) {
                model.hold(cancelled);
            }
            return 0;
        });
        try (EngineLoop loop = loop(model)) {
            Recorder recorder = new Recorder(0);
            SequenceHandle handle = loop.reserve(Requests.of(prompt(100), 300)).start(Handover.nothing(), recorder);
            recorder.awaitFirstTokens();
            handle.cancel();
            cancelled.countDown();
            assertThatThrownBy(recorder::finish)
                    .isInstanceOf(CompletionException.class)
                    .hasCauseInstanceOf(MillraceException.class)
                    .cause()
                    .extracting(e -> ((MillraceException) e).code())
                    .isEqualTo(ErrorCode.CANCELLED);
            handle.cancel();
            finished(run(loop, Requests.of(prompt(3), 1)));
            assertThat(loop.stats().freePages()).isEqualTo(PAGES);
            assertThat(loop.stats().cancelled()).isEqualTo(1);
        }
    }

    @Test
    void aFailedStepFailsItsSequencesAndNoOther() {
        var model = new FakeSteps(PAGES);
        model.failStep(3);
        try (EngineLoop loop = loop(model)) {
            Recorder failed = run(loop, Requests.of(prompt(5), 50));
            assertThatThrownBy(failed::finish)
                    .cause()
                    .isInstanceOfSatisfying(
                            MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INTERNAL));
            assertThat(finished(run(loop, Requests.of(prompt(5), 50))).ids()).hasSize(50);
            assertThat(loop.stats().freePages()).isEqualTo(PAGES);
            assertThat(loop.stats().failed()).isEqualTo(1);
        }
    }

    @Test
    void aStopConditionThatFailsEndsItsSequenceAlone() {
        try (EngineLoop loop = loop(new FakeSteps(PAGES))) {
            StopCondition broken = id -> {
                throw new IllegalStateException("told to fail");
            };
            Recorder other = run(loop, Requests.of(prompt(5), 50));
            Recorder failed = run(loop, Requests.of(prompt(5), new int[0], 50, broken));
            assertThatThrownBy(failed::finish).hasCauseInstanceOf(MillraceException.class);
            assertThat(finished(other).ids()).hasSize(50);
            assertThat(loop.stats().freePages()).isEqualTo(PAGES);
        }
    }

    @Test
    void aKnownFailureIsLoggedAsOneLineWithItsReason() {
        RecordedLog log = new RecordedLog(LoopWorker.class.getName());
        try (EngineLoop loop = loop(new FakeSteps(PAGES))) {
            StopCondition broken = id -> {
                throw new MillraceException(ErrorCode.INTERNAL, "logit of token 0: NaN (expected: a finite number)");
            };
            Recorder failed = run(loop, Requests.of(prompt(5), new int[0], 50, broken));
            assertThatThrownBy(failed::finish)
                    .cause()
                    .hasMessage("the sequence failed: logit of token 0: NaN (expected: a finite number)");
        } finally {
            log.close();
        }
        assertThat(log.lines())
                .filteredOn(line -> line.getLevel() == Level.ERROR)
                .singleElement()
                .satisfies(line -> {
                    assertThat(line.getFormattedMessage())
                            .startsWith("sequence ")
                            .endsWith(" failed: logit of token 0: NaN (expected: a finite number)");
                    assertThat(line.getThrowableProxy()).isNull();
                });
    }

    private static void stop(EngineLoop loop) {
        loop.close();
    }

    @Test
    void closeEndsEverything() throws InterruptedException {
        var model = new FakeSteps(PAGES);
        var stopping = new CountDownLatch(1);
        // The step after the first token lasts until the loop is told to stop.
        model.cost(plan -> {
            if (plan.samples(0)) {
                model.hold(stopping);
            }
            return 0;
        });
        EngineLoop loop = loop(model, 2, 2, 16, 60_000);
        Reservation held = loop.reserve(Requests.of(prompt(30), 1));
        Recorder running = run(loop, Requests.of(prompt(30), 300));
        running.awaitFirstTokens();
        Thread.startVirtualThread(() -> {
            while (loop.isRunning()) {
                Thread.onSpinWait();
            }
            stopping.countDown();
        });
        stop(loop);
        stop(loop);
        held.close();
        assertThatThrownBy(running::finish)
                .cause()
                .isInstanceOfSatisfying(
                        MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.SHUTTING_DOWN));
        assertThatExceptionOfType(MillraceException.class)
                .isThrownBy(() -> loop.reserve(Requests.of(prompt(3), 1)))
                .matches(e -> e.code() == ErrorCode.SHUTTING_DOWN);
        assertThat(model.isClosed()).isTrue();
        assertThat(loop.isRunning()).isFalse();
    }

    @Test
    void stopEndsAllSequencesAndLeavesThePool() throws InterruptedException {
        var model = new FakeSteps(PAGES);
        EngineLoop loop = loop(model, 2, 2, 16, 60_000);
        Recorder running = run(loop, Requests.of(prompt(30), 300));
        running.awaitFirstTokens();
        loop.stop();
        loop.stop();
        assertThatThrownBy(running::finish)
                .cause()
                .isInstanceOfSatisfying(
                        MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.SHUTTING_DOWN));
        assertThat(loop.isRunning()).isFalse();
        assertThat(model.isClosed()).isFalse();
        stop(loop);
        assertThat(model.isClosed()).isTrue();
    }

    @Test
    void writesAreRefusedOnceTheSequenceRuns() {
        try (EngineLoop loop = loop(new FakeSteps(PAGES))) {
            Reservation reservation = loop.reserve(Requests.of(prompt(30), 1));
            assertThatThrownBy(() -> reservation.writeSection(0, 0, new byte[3]))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("3 bytes");
            Recorder recorder = new Recorder(0);
            reservation.start(Handover.nothing(), recorder);
            recorder.finish();
            byte[] bytes = new byte[loop.layout().sectionBytes(0)];
            assertThatThrownBy(() -> reservation.writeSection(0, 0, bytes)).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> reservation.start(Handover.nothing(), recorder))
                    .isInstanceOf(IllegalStateException.class);
        }
    }
}
