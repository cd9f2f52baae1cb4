package io.millrace.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class LoopDeathTest {
    private static final String DIED = "the engine of this instance has died and cannot go on: ";
    private static final int[] PROMPT = {1, 2, 3};

    private final Logger log = (Logger) LoggerFactory.getLogger(LoopDeathTest.class.getPackageName());
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

    @BeforeEach
    void listen() {
        lines.start();
        log.addAppender(lines);
    }

    @AfterEach
    void listenNoMore() {
        log.detachAppender(lines);
    }

    private static EngineLoop loop(FakeSteps model) {
        var loop = new EngineLoop(model, new LoopSettings(2, 8, 32, 60_000, null), EngineRole.DECODE, System::nanoTime);
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
        assertThat(lines.list)
                .filteredOn(line -> line.getLevel() == Level.ERROR)
                .singleElement()
                .extracting(ILoggingEvent::getFormattedMessage)
                .isEqualTo(DIED + "InternalError: told to die");
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
