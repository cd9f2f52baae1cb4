package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.MeterRegistry;
import io.millrace.gateway.fake.FakeDecode.Mishap;
import io.millrace.gateway.fake.Suite;
import io.millrace.rpc.MetricNames;
import io.millrace.startup.arrival.ManagementPort;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/// What clients get from a gateway that is told to end.
class ShutdownTest {
    private static final String PATH = "/v1/chat/completions";
    private static final String STREAM = "\"stream\":true";
    private static final Duration LIMIT = Duration.ofSeconds(20);

    private static Suite start(String grace, String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.add("--spring.lifecycle.timeout-per-shutdown-phase=" + grace);
        Suite suite = new Suite(Object.class, all.toArray(String[]::new));
        suite.reset();
        suite.answer("</think>One two three four five six.");
        return suite;
    }

    private static void hang(Suite suite, int events) {
        suite.decodeA.mishaps.add(new Mishap.Hang(events));
        suite.decodeB.mishaps.add(new Mishap.Hang(events));
    }

    private static CompletableFuture<HttpResponse<String>> ask(Suite suite, String... fields) {
        return CompletableFuture.supplyAsync(() -> suite.post(PATH, Suite.chat(fields)));
    }

    private static void awaitSent(Suite suite, int events) {
        await().atMost(LIMIT).until(() -> suite.decodeA.sent.get() + suite.decodeB.sent.get() == events);
    }

    private static CompletableFuture<Void> end(Suite suite) {
        return CompletableFuture.runAsync(suite.context::close);
    }

    private static void assertRefused(HttpResponse<String> response, String sentence) {
        assertThat(response.statusCode()).isEqualTo(503);
        assertThat(response.headers().firstValue("Retry-After")).contains("1");
        assertThat(response.headers().firstValue("Connection")).contains("close");
        assertShuttingDown(Suite.JSON.readTree(response.body()), sentence);
    }

    private static void assertShuttingDown(JsonNode answer, String sentence) {
        JsonNode error = answer.get("error");
        assertThat(error.get("message").asString()).isEqualTo(sentence);
        assertThat(error.get("type").asString()).isEqualTo("overloaded_error");
        assertThat(error.get("code").asString()).isEqualTo("shutting_down");
    }

    private static String notComplete(String seconds) {
        return "The gateway is shutting down, and the answer was not complete within the " + seconds
                + " s that requests under way are given; try again.";
    }

    @Test
    void endsWhatIsNotCompleteWithAnErrorWhenTheGracePeriodIsOver() {
        try (Suite suite = start("1s")) {
            hang(suite, 4);
            CompletableFuture<HttpResponse<String>> stream = ask(suite, STREAM);
            awaitSent(suite, 4);
            CompletableFuture<HttpResponse<String>> whole = ask(suite);
            awaitSent(suite, 8);

            CompletableFuture<Void> closed = end(suite);

            List<JsonNode> chunks = Suite.chunks(stream.join().body());
            assertThat(chunks.getFirst().get("object").asString()).isEqualTo("chat.completion.chunk");
            assertShuttingDown(chunks.getLast(), notComplete("1"));
            assertRefused(whole.join(), notComplete("1"));
            assertThat(closed).succeedsWithin(LIMIT);
            await().atMost(LIMIT).until(() -> suite.decodeA.cancelled.get() + suite.decodeB.cancelled.get() == 2);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void endsWhatHasNoTokenYetAndWhatWaitsForItsTurn(boolean streams) {
        String stream = "\"stream\":" + streams;
        String[] one = {"--millrace.gateway.limits.max-running-choices=1", "--millrace.gateway.limits.max-choices=1"};
        try (Suite suite = start("500ms", one)) {
            suite.prefill.hangs = true;
            CompletableFuture<HttpResponse<String>> running = ask(suite, stream);
            await().atMost(LIMIT).until(() -> suite.prefill.requests.size() == 1);
            CompletableFuture<HttpResponse<String>> waiting = ask(suite, stream);
            MeterRegistry meters = suite.context.getBean(MeterRegistry.class);
            await().atMost(LIMIT)
                    .until(() ->
                            meters.get(MetricNames.REQUESTS_WAITING).gauge().value() == 1);

            CompletableFuture<Void> closed = end(suite);

            assertRefused(running.join(), notComplete("0.5"));
            assertRefused(waiting.join(), notComplete("0.5"));
            assertThat(closed).succeedsWithin(LIMIT);
        }
    }

    @Test
    void refusesWhatComesAndLetsFinishWhatIsUnderWay() throws IOException {
        try (Suite suite = start("30s", "--millrace.gateway.retries.resume-wait=60s")) {
            hang(suite, 4);
            CompletableFuture<HttpResponse<String>> stream = ask(suite, STREAM);
            CompletableFuture<HttpResponse<String>> whole = ask(suite);
            awaitSent(suite, 8);
            URI readiness = URI.create("http://localhost:" + suite.managementPort() + "/actuator/health/readiness");
            suite.decodeA.mishaps.clear();
            suite.decodeB.mishaps.clear();

            CompletableFuture<Void> closed = end(suite);

            await().atMost(LIMIT).until(() -> suite.get("/health").statusCode() == 503);
            String refusal = "The gateway is shutting down and takes no more requests; try again.";
            assertRefused(suite.post(PATH, Suite.chat()), refusal);
            assertRefused(suite.post(PATH, Suite.chat(STREAM)), refusal);
            assertRefused(suite.get("/v1/models"), refusal);
            assertRefused(suite.get("/nowhere"), refusal);
            HttpResponse<String> notReady =
                    suite.send(HttpRequest.newBuilder(readiness).build());
            assertThat(notReady.statusCode()).isEqualTo(503);
            assertThat(closed).isNotDone();

            suite.restartDecode();

            assertThat(text(stream.join())).isEqualTo("One two three four five six.");
            assertThat(whole.join().statusCode()).isEqualTo(200);
            assertThat(closed).succeedsWithin(Duration.ofSeconds(10));
        }
    }

    @Test
    void endsAtOnceWhenNothingIsUnderWay() throws IOException {
        try (Suite suite = start("30s");
                Socket idle = new Socket("localhost", suite.port)) {
            String get = "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n";
            idle.getOutputStream().write(get.getBytes(StandardCharsets.US_ASCII));
            idle.getInputStream().read();

            assertThat(end(suite)).succeedsWithin(Duration.ofSeconds(10));
        }
    }

    /// In the gateway's own context, too, it would take the other port's requests for its own, and end their bodies
    /// before
    /// anything says why.
    @Test
    void theManagementPortIsNoneOfTheGatewaysOwnBeans() {
        try (Suite suite = start("1s")) {
            assertThat(suite.context.getBeanNamesForType(ManagementPort.class)).isEmpty();
        }
    }

    private static Socket beginBody(int port, String path) throws IOException {
        Socket socket = new Socket("localhost", port);
        socket.setSoTimeout(20_000);
        String begin = (path.startsWith("/v1") ? "POST " : "GET ") + path + " HTTP/1.1\r\nHost: localhost\r\n"
                + "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
        socket.getOutputStream().write(begin.getBytes(StandardCharsets.US_ASCII));
        return socket;
    }

    @Test
    void waitsForNoBodyThatHasNotArrived() throws IOException {
        try (Suite suite = start("30s");
                Socket hanging = beginBody(suite.port, PATH);
                Socket asking = beginBody(suite.managementPort(), "/actuator/health")) {
            RequestsUnderWay underWay = suite.context.getBean(RequestsUnderWay.class);
            OpenExchanges open = suite.context.getBean(OpenExchanges.class);
            await().atMost(LIMIT).until(open::isReading);
            assertThat(underWay.count()).isZero();

            CompletableFuture<Void> closed = end(suite);

            String answer = new String(hanging.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(answer).startsWith("HTTP/1.1 503");
            assertThat(answer).containsIgnoringCase("Retry-After: 1").containsIgnoringCase("Connection: close");
            assertShuttingDown(
                    Suite.JSON.readTree(answer.substring(answer.indexOf("\r\n\r\n") + 4)),
                    "The gateway is shutting down and takes no more requests; try again.");
            assertThat(closed).succeedsWithin(Duration.ofSeconds(10));
            assertThat(asking.getInputStream().read()).isIn(-1, (int) 'H');
        }
    }

    @Test
    void waitsForAnswersUnderWayButNotForBodies() throws IOException {
        try (Suite suite = start("30s", "--millrace.gateway.retries.resume-wait=60s")) {
            hang(suite, 4);
            CompletableFuture<HttpResponse<String>> stream = ask(suite, STREAM);
            awaitSent(suite, 4);
            suite.decodeA.mishaps.clear();
            suite.decodeB.mishaps.clear();
            try (Socket hanging = beginBody(suite.port, PATH)) {
                OpenExchanges open = suite.context.getBean(OpenExchanges.class);
                await().atMost(LIMIT).until(open::isReading);

                CompletableFuture<Void> closed = end(suite);

                assertThat(new String(hanging.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                        .startsWith("HTTP/1.1 503")
                        .contains("shutting_down");
                assertThat(closed).isNotDone();
                suite.restartDecode();
                assertThat(text(stream.join())).isEqualTo("One two three four five six.");
                assertThat(closed).succeedsWithin(Duration.ofSeconds(10));
            }
        }
    }

    /// The web server would give it as long again as the grace period.
    @Test
    void waitsForNoClientThatReadsNothing() throws IOException {
        try (Suite suite = start("6s");
                Socket deaf = new Socket()) {
            suite.answer("</think>" + "word ".repeat(7000));
            deaf.setReceiveBufferSize(2048);
            deaf.connect(new InetSocketAddress("localhost", suite.port));
            byte[] body = Suite.chat(STREAM).getBytes(StandardCharsets.UTF_8);
            String head = "POST " + PATH + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    + "Content-Length: " + body.length + "\r\n\r\n";
            deaf.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
            deaf.getOutputStream().write(body);
            RequestsUnderWay underWay = suite.context.getBean(RequestsUnderWay.class);
            await().atMost(LIMIT).until(() -> underWay.count() == 1);
            await().pollDelay(Duration.ofSeconds(2)).until(() -> underWay.count() == 1);

            assertThat(end(suite)).succeedsWithin(Duration.ofSeconds(11));
        }
    }

    private static String text(HttpResponse<String> response) {
        StringBuilder text = new StringBuilder();
        for (JsonNode chunk : Suite.chunks(response.body())) {
            text.append(
                    chunk.path("choices").path(0).path("delta").path("content").asString(""));
        }
        return text.toString();
    }
}
