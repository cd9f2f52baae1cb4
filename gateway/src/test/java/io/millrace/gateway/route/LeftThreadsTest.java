package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.grpc.Status;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.fake.FakeDecode.Mishap;
import io.millrace.gateway.fake.Suite;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.catalina.loader.WebappClassLoaderBase;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/// Threads that requests gave rise to. Those that outlive their request must not belong to the web application, whose
/// end Tomcat would tell as a leak, nor live longer than what they work on.
class LeftThreadsTest {
    @Test
    void noThreadIsLeftToTheWebApplicationWhenItEnds() {
        Logger tomcat = (Logger) LoggerFactory.getLogger(WebappClassLoaderBase.class);
        ListAppender<ILoggingEvent> said = new ListAppender<>();
        said.start();
        // Those of a suite that other tests share.
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        try (Suite suite = new Suite(Object.class)) {
            suite.reset();
            suite.answer("</think>One two three.");
            askAllKinds(suite);
            tomcat.addAppender(said);

            assertThat(ofWebApplications()).isEmpty();

            suite.context.close();
            assertThat(threads().filter(thread -> !before.contains(thread)).map(Thread::getName))
                    .noneMatch(name -> name.startsWith("tokenizer-"));
            assertThat(said.list.stream().map(ILoggingEvent::getFormattedMessage))
                    .isEmpty();
        } finally {
            tomcat.detachAppender(said);
        }
    }

    private static void askAllKinds(Suite suite) {
        String longText = "word ".repeat(60_000);
        suite.post("/tokenize", "{\"prompt\":\"" + longText + "\"}");
        suite.chatReply("\"n\":3");
        suite.stream("/v1/chat/completions", Suite.chat("\"stream\":true"));
        suite.decodeA.mishaps.add(new Mishap.Die(1, Status.UNAVAILABLE));
        suite.decodeB.mishaps.add(new Mishap.Die(1, Status.UNAVAILABLE));
        suite.chatReply();
        suite.prefill.failures.add(new MillraceException(ErrorCode.PREFILL_FAILED, "It failed."));
        suite.chatReply();
        await().untilAsserted(() -> assertThat(suite.cache.released).isNotEmpty());
        suite.get("/v1/models");
        suite.metrics();
    }

    private static Stream<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream();
    }

    /// But Tomcat's own, which end with it.
    private static List<String> ofWebApplications() {
        return threads()
                .filter(thread -> thread.getContextClassLoader() instanceof WebappClassLoaderBase)
                .map(Thread::getName)
                .filter(name -> !name.startsWith("http-") && !name.startsWith("tomcat-"))
                .toList();
    }
}
