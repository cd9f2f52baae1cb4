package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.MeterRegistry;
import io.millrace.gateway.fake.FakeDecode.Mishap;
import io.millrace.gateway.fake.Suite;
import io.millrace.gateway.fake.SuiteExtension;
import io.millrace.gateway.fake.TestCertificate;
import io.millrace.rpc.MetricNames;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@ExtendWith(SuiteExtension.class)
class HangUpTest {
    private static final Duration LIMIT = Duration.ofSeconds(2);
    private final Suite suite;

    HangUpTest(Suite suite) {
        this.suite = suite;
    }

    private Socket send(String json) throws IOException {
        return send(suite, json);
    }

    private static Socket send(Suite suite, String json) throws IOException {
        return send(new Socket("localhost", suite.port), json);
    }

    private static Socket send(Socket socket, String json) throws IOException {
        byte[] body = json.getBytes(StandardCharsets.UTF_8);
        String head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Content-Length: " + body.length + "\r\n\r\n";
        socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
        socket.getOutputStream().write(body);
        socket.getOutputStream().flush();
        return socket;
    }

    private int cancelledDecodes() {
        return suite.decodeA.cancelled.get() + suite.decodeB.cancelled.get();
    }

    @Test
    void cancelsPrefillOfAClientThatHungUpBeforeTheFirstToken() throws IOException {
        for (String fields : new String[] {"\"stream\":true", "\"stream\":false"}) {
            suite.reset();
            suite.prefill.hangs = true;
            Socket socket = send(Suite.chat(fields));
            await().until(() -> suite.prefill.requests.size() == 1);

            socket.close();

            await().atMost(LIMIT)
                    .untilAsserted(() -> assertThat(suite.prefill.cancelled).hasValue(1));
            await().atMost(LIMIT)
                    .untilAsserted(() -> assertThat(suite.cache.released)
                            .containsExactly(suite.prefill.requests.getFirst().getLeaseId()));
        }
    }

    @Test
    void freesTheTurnAndThePlaceInTheQueueOfClientsThatHungUpBeforeTheFirstByte() throws IOException {
        String[] limits = {"--millrace.gateway.limits.max-running-choices=1", "--millrace.gateway.limits.max-choices=1"
        };
        try (Suite narrow = new Suite(Object.class, limits)) {
            for (String fields : new String[] {"\"stream\":true", "\"stream\":false"}) {
                narrow.reset();
                narrow.prefill.hangs = true;
                Socket running = send(narrow, Suite.chat(fields));
                await().until(() -> narrow.prefill.requests.size() == 1);
                Socket waiting = send(narrow, Suite.chat(fields));
                await().until(() -> gauge(narrow, MetricNames.REQUESTS_WAITING) == 1);

                waiting.close();

                await().atMost(LIMIT).until(() -> gauge(narrow, MetricNames.REQUESTS_WAITING) == 0);
                assertThat(gauge(narrow, MetricNames.REQUESTS_RUNNING)).isEqualTo(1);
                assertThat(narrow.prefill.cancelled).hasValue(0);

                running.close();

                await().atMost(LIMIT).until(() -> gauge(narrow, MetricNames.REQUESTS_RUNNING) == 0);
                await().atMost(LIMIT).until(() -> narrow.prefill.cancelled.get() == 1);
                assertThat(narrow.prefill.requests).hasSize(1);
                assertThat(narrow.decodeRequests()).isEmpty();
                narrow.prefill.hangs = false;
                narrow.chatReply();
            }
        }
    }

    private static double gauge(Suite suite, String name) {
        return suite.context.getBean(MeterRegistry.class).get(name).gauge().value();
    }

    @Test
    void cancelsDecodeOfAClientThatHungUpWhileNoTokensFlow() throws IOException {
        for (String fields : new String[] {"\"stream\":true", "\"stream\":false"}) {
            suite.reset();
            suite.answer("</think>One two three.");
            suite.decodeA.mishaps.add(new Mishap.Hang(3));
            suite.decodeB.mishaps.add(new Mishap.Hang(3));
            Socket socket = send(Suite.chat(fields));
            await().until(() -> suite.decodeRequests().size() == 1);

            socket.close();

            await().atMost(LIMIT)
                    .untilAsserted(() -> assertThat(cancelledDecodes()).isEqualTo(1));
            await().atMost(LIMIT)
                    .untilAsserted(() -> assertThat(suite.cache.released).isNotEmpty());
        }
    }

    @Test
    void aClientThatEndsOnlyItsSendingSideGetsItsStreamToTheEnd() throws IOException {
        suite.answer("</think>One two three.");
        CountDownLatch over = new CountDownLatch(1);
        suite.decodeA.mishaps.add(new Mishap.Rest(3, over));
        suite.decodeB.mishaps.add(new Mishap.Rest(3, over));
        try (Socket socket = send(Suite.chat("\"stream\":true"))) {
            socket.setSoTimeout(10_000);
            String text = readUntil(socket.getInputStream(), "data: ");

            socket.shutdownOutput();
            text += readUntil(socket.getInputStream(), ": keep-alive");
            over.countDown();
            text += readUntil(socket.getInputStream(), "never");

            assertThat(text).contains("\"ree\"").contains("data: [DONE]").endsWith("\r\n0\r\n\r\n");
            assertThat(cancelledDecodes()).isZero();
        } finally {
            over.countDown();
        }
    }

    /// Its end of sending alone tells nobody which of the two it is; what is written then does.
    @Test
    void cancelsDecodeOfAStreamsClientThatHungUpAfterItsSendingSideHadEnded() throws IOException {
        suite.answer("</think>One two three.");
        suite.decodeA.mishaps.add(new Mishap.Hang(3));
        suite.decodeB.mishaps.add(new Mishap.Hang(3));
        try (Socket socket = send(Suite.chat("\"stream\":true"))) {
            socket.setSoTimeout(10_000);
            readUntil(socket.getInputStream(), "data: ");
            socket.shutdownOutput();
            readUntil(socket.getInputStream(), ": keep-alive");
            assertThat(cancelledDecodes()).isZero();
        }

        await().atMost(LIMIT).untilAsserted(() -> assertThat(cancelledDecodes()).isEqualTo(1));
    }

    @Test
    void aClientThatEndsItsSendingSideWhereNothingIsStreamedYetIsToldThatItsRequestIsCancelled() throws IOException {
        for (String fields : new String[] {"\"stream\":true", "\"stream\":false"}) {
            suite.reset();
            suite.prefill.hangs = true;
            try (Socket socket = send(Suite.chat(fields))) {
                await().until(() -> suite.prefill.requests.size() == 1);
                socket.setSoTimeout(10_000);

                socket.shutdownOutput();

                assertThat(readUntil(socket.getInputStream(), "never"))
                        .startsWith("HTTP/1.1 499")
                        .contains("\"cancelled\"");
                await().atMost(LIMIT).until(() -> suite.prefill.cancelled.get() == 1);
            }
        }
    }

    /// Over TLS the end of its sending side cannot be told from a client that is gone. It may read on all the same, and
    /// must not take what it got for the whole.
    @Test
    void aStreamOverTlsThatIsCancelledDoesNotLookComplete(@TempDir Path folder) throws Exception {
        TestCertificate certificate = TestCertificate.make(folder);
        try (Suite secure = new Suite(certificate);
                Socket socket = certificate.client().getSocketFactory().createSocket("localhost", secure.port)) {
            secure.answer("</think>One two three.");
            secure.decodeA.mishaps.add(new Mishap.Hang(3));
            secure.decodeB.mishaps.add(new Mishap.Hang(3));
            socket.setSoTimeout(10_000);
            send(socket, Suite.chat("\"stream\":true"));
            readUntil(socket.getInputStream(), "data: ");

            socket.shutdownOutput();

            assertThat(readUntil(socket.getInputStream(), "never")).doesNotContain("[DONE]", "\r\n0\r\n");
            await().atMost(LIMIT).until(() -> secure.decodeA.cancelled.get() + secure.decodeB.cancelled.get() == 1);
        }
    }

    @Test
    void keepsAPipelinedSecondRequest() throws IOException {
        suite.answer("</think>One.");
        try (Socket socket = new Socket("localhost", suite.port)) {
            String get = "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n";
            byte[] body = Suite.chat().getBytes(StandardCharsets.UTF_8);
            String post = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    + "Content-Length: " + body.length + "\r\n\r\n" + Suite.chat();
            socket.getOutputStream().write((post + get).getBytes(StandardCharsets.UTF_8));
            socket.getOutputStream().flush();
            socket.setSoTimeout(10_000);

            String answers = readUntil(socket.getInputStream(), "\"max_model_len\"");

            assertThat(answers).contains("chat.completion").contains("\"object\":\"list\"");
        }
    }

    private static String readUntil(InputStream input, String end) throws IOException {
        StringBuilder text = new StringBuilder();
        byte[] buffer = new byte[4096];
        while (text.indexOf(end) < 0) {
            int count = input.read(buffer);
            if (count < 0) {
                break;
            }
            text.append(new String(buffer, 0, count, StandardCharsets.UTF_8));
        }
        return text.toString();
    }
}
