package io.millrace.gateway.generation;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.grpc.Status;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.fake.FakeDecode.Mishap;
import io.millrace.gateway.fake.Suite;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class FailedCallsTest {
    private static final int REQUESTS = 30;

    private final Logger log = (Logger) LoggerFactory.getLogger("io.millrace.gateway.generation");
    private final ListAppender<ILoggingEvent> said = new ListAppender<>();

    /// Once the gateway has set up its log.
    private void record() {
        said.start();
        log.addAppender(said);
    }

    @AfterEach
    void stop() {
        log.detachAppender(said);
    }

    private List<String> warnings() {
        return List.copyOf(said.list).stream()
                .filter(event -> event.getLevel() == Level.WARN)
                .map(ILoggingEvent::getFormattedMessage)
                .toList();
    }

    /// A minute may end meanwhile: what two have lines for, and one that tells how many had none.
    private void assertFewLines(String first) {
        assertThat(warnings())
                .hasSizeBetween(FailedCalls.LINES_A_MINUTE, 2 * FailedCalls.LINES_A_MINUTE + 1)
                .first()
                .isEqualTo(first);
    }

    @Test
    void aBrokenPrefillHasNoLineForEachRequest() {
        try (Suite suite = new Suite(Object.class)) {
            record();
            suite.answer("</think>Yes.");
            for (int i = 0; i < REQUESTS; i++) {
                suite.prefill.failures.add(new MillraceException(ErrorCode.PREFILL_FAILED, "It failed."));
                suite.chatReply();
            }
        }
        assertFewLines("prefill by prefill-a failed: UNAVAILABLE");
    }

    @Test
    void aBrokenDecodeHasNoLineForEachRequest() {
        try (Suite suite = new Suite(Object.class)) {
            record();
            suite.answer("</think>Yes.", 1);
            for (int i = 0; i < REQUESTS; i++) {
                // Whoever is asked first fails, and the other one answers.
                suite.decodeA.mishaps.add(new Mishap.Die(1, Status.DATA_LOSS));
                suite.chatReply();
                suite.chatReply();
            }
        }
        assertFewLines("decode by decode-a failed: DATA_LOSS");
    }
}
