package io.millrace.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.logging.RecordedLog;
import io.millrace.engine.sampling.Sampled;
import java.io.Serial;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class LoopDeathTest {
    private static final String DIED = "the engine of this instance has died and cannot go on: ";
    private static final int[] PROMPT = {1, 2, 3};

    private final Logger log = (Logger) LoggerFactory.getLogger(LoopDeathTest.class.getPackageName());
    private final RecordedLog recorded = new RecordedLog(log.getName());

    @AfterEach
    void listenNoMore() {
        recorded.close();
    }

    private static EngineLoop loop(FakeSteps model) {
        return loop(model, 2);
    }

    private static EngineLoop loop(FakeSteps model, int sequences) {
        var settings = new LoopSettings(sequences, 8, 32, 60_000, null);
        var loop = new EngineLoop(model, settings, EngineRole.DECODE, System::nanoTime);
        loop.start();
        return loop;
    }

    private static String reason(EngineLoop loop) {
        return loop.died().toCompletableFuture().orTimeout(60, TimeUnit.SECONDS).join();
    }

    private static void assertFailed(Recorder recorder, String reason) {
        assertThatThrownBy(recorder::finish).cause().isInstanceOfSatisfying(MillraceException.class, e -> {
            assertThat(e.code()).isEqualTo(ErrorCode.ENGINE_FAILED);
            assertThat(e).hasMessage(reason);
        });
    }

    @Test
    void anErrorInAStepEndsTheLoopAndTellsEveryRequestWhy() {
        var model = new FakeSteps(24);
        model.dieInStep(3, new InternalError("told to die"));
        try (EngineLoop loop = loop(model)) {
            var recorder = new Recorder(0);
            Reservation importing = loop.reserve(Requests.of(PROMPT, 1));
            loop.reserve(Requests.of(PROMPT, 50)).start(Handover.nothing(), recorder);
            assertThat(reason(loop)).isEqualTo(DIED + "InternalError: told to die");
            assertFailed(recorder, DIED + "InternalError: told to die");
            assertThat(loop.isRunning()).isFalse();
            assertThatExceptionOfType(MillraceException.class)
                    .isThrownBy(() -> loop.reserve(Requests.of(PROMPT, 1)))
                    .withMessage(DIED + "InternalError: told to die")
                    .matches(e -> e.code() == ErrorCode.ENGINE_FAILED);
            assertThatExceptionOfType(MillraceException.class)
                    .isThrownBy(() -> importing.start(Handover.nothing(), recorder))
                    .withMessage(DIED + "InternalError: told to die");
        }
        assertThat(model.isClosed()).isTrue();
        assertThat(recorded.lines())
                .filteredOn(line -> line.getLevel() == Level.ERROR)
                .singleElement()
                .extracting(ILoggingEvent::getFormattedMessage)
                .isEqualTo(DIED + "InternalError: told to die");
    }

    /// As on a heap that is full: whoever asks what happened needs memory, too.
    private static final class Unsayable extends OutOfMemoryError {
        @Serial
        private static final long serialVersionUID = 1L;

        @Override
        public String getMessage() {
            throw new OutOfMemoryError("no memory for the words");
        }
    }

    /// Fails by an error on the call that ends the sequence.
    private static final class Failing implements SequenceListener {
        final CompletableFuture<MillraceException> told = new CompletableFuture<>();

        @Override
        public void onBlock(int blockIndex, int[] tokens, byte[][] sections) {}

        @Override
        public void onTail(int tokens, byte[][] sections, float[] boundaryState) {}

        @Override
        public void onTokens(int firstPosition, List<Sampled> tokens) {}

        @Override
        public void onFinish(int firstPosition, List<Sampled> lastTokens, FinishInfo info) {
            throw new Unsayable();
        }

        @Override
        public void onError(MillraceException error) {
            told.complete(error);
            throw new Unsayable();
        }

        void assertTold(String reason) {
            MillraceException error = told.orTimeout(60, TimeUnit.SECONDS).join();
            assertThat(error.code()).isEqualTo(ErrorCode.ENGINE_FAILED);
            assertThat(error).hasMessage(reason);
        }
    }

    private static void assertDead(EngineLoop loop, String reason) {
        assertThat(reason(loop)).isEqualTo(reason);
        assertThat(loop.isRunning()).isFalse();
        assertThatExceptionOfType(MillraceException.class)
                .isThrownBy(() -> loop.reserve(Requests.of(PROMPT, 1)))
                .withMessage(reason)
                .matches(e -> e.code() == ErrorCode.ENGINE_FAILED);
    }

    @Test
    void aDeathThatCannotBeDescribedAndListenersThatFailKeepNobodyWaiting() {
        var model = new FakeSteps(24);
        model.dieInStep(3, new Unsayable());
        try (EngineLoop loop = loop(model, 4)) {
            Reservation importing = loop.reserve(Requests.of(PROMPT, 1));
            Reservation first = loop.reserve(Requests.of(PROMPT, 50));
            Reservation second = loop.reserve(Requests.of(PROMPT, 50));
            Reservation third = loop.reserve(Requests.of(PROMPT, 50));
            var waiting = CompletableFuture.runAsync(() -> loop.reserve(Requests.of(PROMPT, 1)));
            while (loop.stats().waitingRequests() == 0) {
                Thread.onSpinWait();
            }
            var firstFails = new Failing();
            var recorder = new Recorder(0);
            var lastFails = new Failing();
            var together = new CountDownLatch(1);
            model.hold(together);
            first.start(Handover.nothing(), firstFails);
            second.start(Handover.nothing(), recorder);
            third.start(Handover.nothing(), lastFails);
            together.countDown();
            assertDead(loop, DIED + "OutOfMemoryError");
            firstFails.assertTold(DIED + "OutOfMemoryError");
            assertFailed(recorder, DIED + "OutOfMemoryError");
            lastFails.assertTold(DIED + "OutOfMemoryError");
            assertThatThrownBy(() -> waiting.orTimeout(60, TimeUnit.SECONDS).join())
                    .hasRootCauseMessage(DIED + "OutOfMemoryError");
            assertThatExceptionOfType(MillraceException.class)
                    .isThrownBy(() -> importing.start(Handover.nothing(), recorder))
                    .withMessage(DIED + "OutOfMemoryError");
        }
        assertThat(model.isClosed()).isTrue();
        assertThat(recorded.lines())
                .as("the reason is logged even if its cause cannot be")
                .extracting(ILoggingEvent::getFormattedMessage)
                .containsOnlyOnce(DIED + "OutOfMemoryError");
    }

    @Test
    void aLogThatFailsKeepsNobodyWaiting() {
        var broken = new AppenderBase<ILoggingEvent>() {
            @Override
            protected void append(ILoggingEvent line) {
                throw new Unsayable();
            }
        };
        broken.start();
        log.addAppender(broken);
        var model = new FakeSteps(24);
        model.dieInStep(3, new InternalError("told to die"));
        try (EngineLoop loop = loop(model, 2)) {
            var recorder = new Recorder(0);
            var failing = new Failing();
            Reservation first = loop.reserve(Requests.of(PROMPT, 50));
            Reservation second = loop.reserve(Requests.of(PROMPT, 50));
            var together = new CountDownLatch(1);
            model.hold(together);
            first.start(Handover.nothing(), recorder);
            second.start(Handover.nothing(), failing);
            together.countDown();
            assertDead(loop, DIED + "InternalError: told to die");
            assertFailed(recorder, DIED + "InternalError: told to die");
            failing.assertTold(DIED + "InternalError: told to die");
        } finally {
            log.detachAppender(broken);
        }
    }

    @Test
    void theSequenceWhoseEndKilledTheLoopIsToldToo() {
        try (EngineLoop loop = loop(new FakeSteps(24), 2)) {
            var failing = new Failing();
            loop.reserve(Requests.of(PROMPT, 1)).start(Handover.nothing(), failing);
            assertDead(loop, DIED + "OutOfMemoryError");
            failing.assertTold(DIED + "OutOfMemoryError");
        }
    }

    @Test
    void anInterruptOfTheLoopThreadIsADeathToo() {
        try (EngineLoop loop = loop(new FakeSteps(24))) {
            for (Thread thread : Thread.getAllStackTraces().keySet()) {
                if (thread.getName().equals("engine-loop-decode")) {
                    thread.interrupt();
                }
            }
            assertThat(reason(loop)).isEqualTo(DIED + "its thread was interrupted");
        }
    }

    @Test
    void aMappedFileThatIsGoneIsNamed() {
        String jvm = "a fault occurred in a recent unsafe memory access operation in compiled Java code";
        assertThat(LoopDeath.reason(new InternalError(jvm)))
                .isEqualTo(DIED + "a mapped file can no longer be read; the packed weights may have been shortened or"
                        + " their disk may fail (InternalError: " + jvm + ")");
    }

    @Test
    void aKnownFailureIsTheReason() {
        assertThat(LoopDeath.reason(new MillraceException(ErrorCode.INTERNAL, "told to die")))
                .isEqualTo(DIED + "told to die");
        assertThat(LoopDeath.reason(new OutOfMemoryError())).isEqualTo(DIED + "OutOfMemoryError");
    }

    @Test
    void aLoopThatIsClosedHasNotDied() {
        EngineLoop loop = loop(new FakeSteps(24));
        loop.close();
        assertThat(loop.died().toCompletableFuture()).isNotDone();
        assertThatExceptionOfType(MillraceException.class)
                .isThrownBy(() -> loop.reserve(Requests.of(PROMPT, 1)))
                .matches(e -> e.code() == ErrorCode.SHUTTING_DOWN);
    }
}
