package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.MeterRegistry;
import io.millrace.gateway.fake.Suite;
import io.millrace.gateway.fake.Trickle;
import io.millrace.rpc.MetricNames;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/// Bodies that do not arrive in full hold no connection for long, and nothing else at all.
class SlowBodyTest {
    private static final String TEN_BYTES = "0123456789";
    private static final Duration SHORT = Duration.ofSeconds(5);
    private static Suite suite;

    @BeforeAll
    static void start() {
        suite = new Suite(
                Object.class,
                "--millrace.gateway.limits.body-timeout=1s",
                "--millrace.gateway.limits.max-running-choices=1",
                "--millrace.gateway.limits.max-choices=1");
    }

    @AfterAll
    static void stop() {
        suite.close();
    }

    private static Socket begin(String path, String header, String body) throws IOException {
        Socket socket = new Socket("localhost", suite.port);
        socket.setSoTimeout(10_000);
        send(
                socket,
                "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + header
                        + "\r\n\r\n" + body);
        return socket;
    }

    private static void send(Socket socket, String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
    }

    /// All that comes until the gateway closes the connection.
    private static String rest(Socket socket) throws IOException {
        return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }

    private static void refused(String answer, int status, String code, String message) {
        assertThat(answer).startsWith("HTTP/1.1 " + status);
        assertThat(answer).containsIgnoringCase("Content-Type: application/json");
        assertThat(answer).containsIgnoringCase("Connection: close");
        JsonNode error = Suite.JSON
                .readTree(answer.substring(answer.indexOf("\r\n\r\n") + 4))
                .get("error");
        assertThat(error.propertyNames()).containsExactly("message", "type", "param", "code");
        assertThat(error.get("message").asString()).isEqualTo(message);
        assertThat(error.get("type").asString()).isEqualTo("invalid_request_error");
        assertThat(error.get("code").asString()).isEqualTo(code);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            Content-Length: 100        | 0123456789           | request body: 10 of 100 bytes within 1 s \
            (expected: all of them)
            Content-Length: 100        | ''                   | request body: 0 of 100 bytes within 1 s \
            (expected: all of them)
            Transfer-Encoding: chunked | a\\r\\n0123456789\\r\\n | request body: 10 bytes within 1 s \
            (expected: chunks up to the last, empty one)
            """)
    void givesUpABodyThatStops(String header, String body, String message) throws IOException {
        long started = System.nanoTime();
        try (Socket socket = begin("/tokenize", header, body.replace("\\r\\n", "\r\n"))) {
            refused(rest(socket), 408, "body_timeout", message);
        }
        assertThat(Duration.ofNanos(System.nanoTime() - started)).isBetween(Duration.ofSeconds(1), SHORT);
    }

    @Test
    void givesUpABodyThatTrickles() throws IOException {
        try (Socket socket = begin("/tokenize", "Content-Length: 1000", "")) {
            long started = System.nanoTime();
            String answer = Trickle.answer(socket, " ".repeat(1000));

            assertThat(answer).startsWith("HTTP/1.1 408").contains(" of 1000 bytes within 1 s");
            assertThat(Duration.ofNanos(System.nanoTime() - started)).isLessThan(SHORT);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            Content-Length: 100        | 0123456789           | request body: ended after 10 of 100 bytes \
            (expected: all of them)
            Transfer-Encoding: chunked | a\\r\\n0123456789\\r\\n | request body: unreadable after 10 bytes \
            (expected: chunks up to the last, empty one)
            Transfer-Encoding: chunked | zz\\r\\n             | request body: unreadable after 0 bytes \
            (expected: chunks up to the last, empty one)
            """)
    void saysThatABodyBrokeOff(String header, String body, String message) throws IOException {
        try (Socket socket = begin("/tokenize", header, body.replace("\\r\\n", "\r\n"))) {
            socket.shutdownOutput();

            refused(rest(socket), 400, "body_incomplete", message);
        }
    }

    @Test
    void aBodyThatHangsTakesNobodysPlace() throws IOException {
        suite.reset();
        suite.answer("</think>Yes.");
        try (Socket socket = begin("/v1/chat/completions", "Content-Length: 100", TEN_BYTES)) {
            suite.chatReply();

            refused(
                    rest(socket),
                    408,
                    "body_timeout",
                    "request body: 10 of 100 bytes within 1 s (expected: all of them)");
        }
        assertThat(gauge(MetricNames.REQUESTS_RUNNING)).isZero();
        assertThat(gauge(MetricNames.REQUESTS_WAITING)).isZero();
    }

    private static double gauge(String name) {
        return suite.context.getBean(MeterRegistry.class).get(name).gauge().value();
    }

    @Test
    void aConnectionWhoseBodyCameStaysOpenAsLongAsBefore() throws IOException {
        String body = "{\"prompt\":\"Hello\"}";
        String header = "Content-Length: " + body.length();
        try (Socket socket = begin("/tokenize", header, "")) {
            send(socket, body);
            int first = socket.getInputStream().read();
            // Nothing for longer than a body may take, as a connection pool does.
            await().pollDelay(Duration.ofMillis(1500)).until(() -> true);
            socket.getInputStream().skipNBytes(socket.getInputStream().available());
            send(socket, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");

            assertThat(first).isEqualTo('H');
            assertThat(rest(socket)).startsWith("HTTP/1.1 200");
        }
    }
}
