package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.millrace.gateway.fake.FakeDecode.Mishap;
import io.millrace.gateway.fake.Suite;
import io.millrace.gateway.fake.Trickle;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/// Requests that do not arrive in full hold no connection for long, and nothing else at all.
class SlowHeadTest {
    private static final Duration SHORT = Duration.ofSeconds(6);
    private static final String GET = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    private static Suite suite;

    @BeforeAll
    static void start() {
        suite = new Suite(
                Object.class,
                "--millrace.gateway.limits.head-timeout=1s",
                "--millrace.gateway.limits.body-timeout=1s",
                "--millrace.gateway.retries.resume-wait=60s");
    }

    @AfterAll
    static void stop() {
        suite.close();
    }

    private static Socket connect(int port) throws IOException {
        Socket socket = new Socket("localhost", port);
        socket.setSoTimeout(15_000);
        return socket;
    }

    private static void send(Socket socket, String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
    }

    private static void refused(String answer) {
        assertThat(answer).startsWith("HTTP/1.1 408");
        assertThat(answer).containsIgnoringCase("Content-Type: application/json");
        assertThat(answer).containsIgnoringCase("Connection: close");
        JsonNode error = Suite.JSON
                .readTree(answer.substring(answer.indexOf("\r\n\r\n") + 4))
                .get("error");
        assertThat(error.propertyNames()).containsExactly("message", "type", "param", "code");
        assertThat(error.get("message").asString())
                .isEqualTo("request line and headers: incomplete (expected: up to the empty line within 1 s)");
        assertThat(error.get("type").asString()).isEqualTo("invalid_request_error");
        assertThat(error.get("code").asString()).isEqualTo("headers_timeout");
    }

    private static int port(boolean management) {
        return management ? suite.managementPort() : suite.port;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aHeadThatTricklesIsGivenUp(boolean management) throws IOException {
        for (String head : new String[] {
            "GET /" + "a".repeat(1000), "GET /health HTTP/1.1\r\nHost: " + "a".repeat(1000), "\r\n".repeat(1000)
        }) {
            long started = System.nanoTime();
            try (Socket socket = connect(port(management))) {
                refused(Trickle.answer(socket, head));
            }
            assertThat(Duration.ofNanos(System.nanoTime() - started)).isBetween(Duration.ofSeconds(1), SHORT);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"G", "GET /health HTTP/1.1\r\nHost", "\r\n"})
    void aHeadThatStopsIsGivenUp(String head) throws IOException {
        long started = System.nanoTime();
        try (Socket socket = connect(suite.port)) {
            send(socket, head);
            refused(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
        }
        assertThat(Duration.ofNanos(System.nanoTime() - started)).isBetween(Duration.ofSeconds(1), SHORT);
    }

    @Test
    void aSecondHeadHasItsOwnTime() throws IOException {
        try (Socket socket = connect(suite.port)) {
            for (int request = 0; request < 3; request++) {
                send(socket, GET.substring(0, 20));
                await().pollDelay(Duration.ofMillis(600)).until(() -> true);
                send(socket, GET.substring(20));
                assertThat(socket.getInputStream().read()).isEqualTo('H');
                await().pollDelay(Duration.ofMillis(200)).until(() -> true);
                socket.getInputStream().skipNBytes(socket.getInputStream().available());
            }
            // The third one came with the begin of a fourth.
            send(socket, GET + "GET");
            String answers = Trickle.answer(socket, " /" + "a".repeat(1000));
            assertThat(answers).startsWith("HTTP/1.1 200");
            refused(answers.substring(answers.lastIndexOf("HTTP/1.1 ")));
        }
    }

    @Test
    void aConnectionBetweenRequestsStaysOpen() throws IOException {
        try (Socket socket = connect(suite.port)) {
            send(socket, GET);
            assertThat(socket.getInputStream().read()).isEqualTo('H');
            await().pollDelay(Duration.ofMillis(3500)).until(() -> true);
            socket.getInputStream().skipNBytes(socket.getInputStream().available());
            send(socket, GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
            assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                    .startsWith("HTTP/1.1 200");
        }
    }

    @Test
    void aLongStreamGoesOn() {
        suite.reset();
        suite.answer("</think>One two three four five six.");
        suite.decodeA.mishaps.add(new Mishap.Hang(4));
        suite.decodeB.mishaps.add(new Mishap.Hang(4));
        CompletableFuture<HttpResponse<String>> stream =
                CompletableFuture.supplyAsync(() -> suite.post("/v1/chat/completions", Suite.chat("\"stream\":true")));
        await().atMost(Duration.ofSeconds(20)).until(() -> suite.decodeA.sent.get() + suite.decodeB.sent.get() == 4);
        suite.decodeA.mishaps.clear();
        suite.decodeB.mishaps.clear();
        await().pollDelay(Duration.ofMillis(3500)).until(() -> true);
        suite.restartDecode();

        StringBuilder text = new StringBuilder();
        for (JsonNode chunk : Suite.chunks(stream.join().body())) {
            text.append(
                    chunk.path("choices").path(0).path("delta").path("content").asString(""));
        }
        assertThat(text).hasToString("One two three four five six.");
    }

    /// The server reads it, as the connection could be used again.
    @ParameterizedTest
    @ValueSource(
            strings = {
                "POST /v1/models HTTP/1.1\r\nContent-Type: application/json|405",
                "POST /tokenize HTTP/1.1\r\nContent-Type: text/plain|415",
                "GET /v1/models HTTP/1.1\r\nContent-Type: application/json|200",
                "POST /none HTTP/1.1\r\nTransfer-Encoding: chunked|404"
            })
    void aBodyThatNobodyWantsIsReadForNoLongerThanOthers(String request) throws IOException {
        String[] parts = request.split("\\|", -1);
        boolean chunked = parts[0].contains("chunked");
        long started = System.nanoTime();
        try (Socket socket = connect(suite.port)) {
            send(
                    socket,
                    parts[0] + "\r\nHost: a\r\n" + (chunked ? "" : "Content-Length: 1000\r\n") + "\r\n"
                            + (chunked ? "3e8\r\n" : ""));
            assertThat(Trickle.answer(socket, "a".repeat(1000))).startsWith("HTTP/1.1 " + parts[1]);
        }
        assertThat(Duration.ofNanos(System.nanoTime() - started)).isLessThan(SHORT);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Content-Length: 10\r\n\r\n01234|56789",
                "Transfer-Encoding: chunked\r\n\r\na\r\n01234|56789\r\n0\r\n\r\n"
            })
    void aBodyThatNobodyWantsEndsNoConnectionIfItComes(String body) throws IOException {
        String[] parts = body.split("\\|", -1);
        try (Socket socket = connect(suite.port)) {
            send(socket, "POST /none HTTP/1.1\r\nHost: a\r\n" + parts[0]);
            assertThat(socket.getInputStream().read()).isEqualTo('H');
            await().pollDelay(Duration.ofMillis(300)).until(() -> true);
            socket.getInputStream().skipNBytes(socket.getInputStream().available());
            send(socket, parts[1] + "GET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                    .startsWith("HTTP/1.1 404");
        }
    }

    @Test
    void aBodyOfTheManagementPortIsGivenUp() throws IOException {
        long started = System.nanoTime();
        try (Socket socket = connect(suite.managementPort())) {
            send(
                    socket,
                    GET.replace("/health", "/actuator/health")
                            .replace("\r\n\r\n", "\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"));
            assertThat(Trickle.answer(socket, "{" + " ".repeat(1000))).startsWith("HTTP/1.1 ");
        }
        assertThat(Duration.ofNanos(System.nanoTime() - started)).isLessThan(SHORT);
    }
}
