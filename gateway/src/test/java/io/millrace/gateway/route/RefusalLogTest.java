package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.millrace.gateway.error.RefusalLog;
import io.millrace.gateway.fake.Suite;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class RefusalLogTest {
    private final Logger log = (Logger) LoggerFactory.getLogger(RefusalLog.class);
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

    /// Once the gateway has set up its log.
    private void record() {
        log.setLevel(Level.INFO);
        lines.start();
        log.addAppender(lines);
    }

    @AfterEach
    void stop() {
        log.detachAppender(lines);
        log.setLevel(null);
    }

    private List<String> said() {
        return List.copyOf(lines.list).stream()
                .map(ILoggingEvent::getFormattedMessage)
                .toList();
    }

    /// In a gateway of its own, whose lines of this minute are not used up by other tests.
    @Test
    void aRefusedRequestHasOneLineWithoutItsBody() {
        try (Suite suite = new Suite(Object.class)) {
            record();
            expect(suite, "POST /v1/completions", "?key=secret", "application/json", "400, invalid_request");
            expect(suite, "POST /v1/completions", "", "text/plain", "415, unsupported_media_type");
            expect(suite, "POST /v1/completions", "", "*/*", "415, unsupported_media_type");
            expect(suite, "DELETE /v1/completions", "", "application/json", "405, method_not_allowed");
            expect(suite, "GET /nowhere", "", "application/json", "404, route_not_found");
            assertThat(said()).hasSize(5).noneMatch(line -> line.contains("secret"));
        }
    }

    @Test
    void whatTheWebServerRefusesHasALineToo() throws IOException {
        try (Suite suite = new Suite(Object.class)) {
            record();
            refusedByServer(suite.port, "G@T /health?key=secret HTTP/1.1\r\nHost: a\r\n\r\n", 400, "invalid_request");
            refusedByServer(suite.port, "NONSENSE\r\n\r\n", 400, "invalid_request");
            refusedByServer(suite.port, "GET /health HTTP/7.7\r\nHost: a\r\n\r\n", 505, "invalid_request");
            int management = suite.managementPort();
            refusedByServer(
                    management, "GET /actuator/env?a=secret HTTP/1.1\r\nHost: a\r\n\r\n", 404, "route_not_found");
            assertThat(said().getLast()).startsWith("without id: GET /actuator/env on port ");
            assertThat(said()).hasSize(4).noneMatch(line -> line.contains("secret"));
        }
    }

    private void refusedByServer(int port, String request, int status, String code) throws IOException {
        try (Socket socket = new Socket("localhost", port)) {
            socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
            socket.getInputStream().readAllBytes();
        }
        Awaitility.await()
                .untilAsserted(() -> assertThat(said())
                        .last()
                        .asString()
                        .startsWith("without id: ")
                        .endsWith(" on port " + port + " refused with " + status + ", " + code));
    }

    /// The framework would warn of each by lines of its own, without a bound.
    @Test
    void theManagementPortWarnsOfNothingThatItRefuses() {
        Logger spring = (Logger) LoggerFactory.getLogger("org.springframework");
        try (Suite suite = new Suite(Object.class)) {
            spring.addAppender(lines);
            lines.start();
            URI actuator = URI.create("http://localhost:" + suite.managementPort() + "/actuator");
            for (String path : List.of("/env", "/health/none", "/prometheus", "/../..")) {
                for (String method : List.of("GET", "DELETE", "POST")) {
                    suite.send(HttpRequest.newBuilder(URI.create(actuator + path))
                            .header("Content-Type", "*/*")
                            .method(method, BodyPublishers.ofString("{"))
                            .build());
                }
            }
            assertThat(lines.list)
                    .filteredOn(event -> event.getLevel().isGreaterOrEqual(Level.WARN))
                    .isEmpty();
        } finally {
            spring.detachAppender(lines);
        }
    }

    private void expect(Suite suite, String asked, String query, String type, String outcome) {
        String id = "refused-" + said().size();
        int space = asked.indexOf(' ');
        suite.send(HttpRequest.newBuilder(suite.uri(asked.substring(space + 1) + query))
                .header("Content-Type", type)
                .header("X-Request-Id", id)
                .method(
                        asked.substring(0, space),
                        BodyPublishers.ofString("{\"prompt\": \"my secret\", \"n\": \"two\"}"))
                .build());
        // The line may come after the answer.
        Awaitility.await()
                .untilAsserted(() -> assertThat(said())
                        .filteredOn(line -> line.contains(id))
                        .containsExactly("request " + id + ": " + asked + " refused with " + outcome));
    }

    @Test
    void aFloodHasNoMoreLinesThanAMinuteHolds() {
        record();
        AtomicLong nanos = new AtomicLong();
        RefusalLog refusals = new RefusalLog(nanos::get);
        for (int i = 0; i < 1000; i++) {
            refusals.refused("flood", "GET", "/", 404, "");
        }
        assertThat(said()).hasSize(RefusalLog.LINES_A_MINUTE);

        nanos.addAndGet(TimeUnit.MINUTES.toNanos(1));
        refusals.refused("later", "GET", "/", 404, "");
        assertThat(said()).hasSize(RefusalLog.LINES_A_MINUTE + 2);
        assertThat(said().get(RefusalLog.LINES_A_MINUTE)).startsWith("940 more requests were refused");
        assertThat(said().getLast()).startsWith("request later: GET / refused with 404");
    }
}
