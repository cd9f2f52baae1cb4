package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.millrace.gateway.fake.FakeDecode.Mishap;
import io.millrace.gateway.fake.Suite;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/// Services that go away and come back.
class RestartTest {
    private static final String PATH = "/v1/chat/completions";

    @Test
    void aStreamGoesOnWhenTheOnlyDecodeInstancesComeBack() {
        try (Suite suite = new Suite(Object.class, "--millrace.gateway.retries.resume-wait=60s")) {
            suite.reset();
            suite.answer("</think>One two three four five six.");
            suite.decodeA.mishaps.add(new Mishap.Hang(5));
            suite.decodeB.mishaps.add(new Mishap.Hang(5));
            CompletableFuture<HttpResponse<String>> streaming = CompletableFuture.supplyAsync(
                    () -> suite.post(PATH, Suite.chat("\"stream\":true", "\"logprobs\":true")));
            await().atMost(Duration.ofSeconds(20))
                    .until(() -> suite.decodeA.sent.get() + suite.decodeB.sent.get() == 5);
            suite.decodeA.mishaps.clear();
            suite.decodeB.mishaps.clear();

            suite.restartDecode();

            List<JsonNode> chunks = Suite.chunks(streaming.join().body());
            StringBuilder text = new StringBuilder();
            for (JsonNode chunk : chunks) {
                text.append(chunk.path("choices")
                        .path(0)
                        .path("delta")
                        .path("content")
                        .asString(""));
            }
            assertThat(text.toString()).isEqualTo("One two three four five six.");

            suite.stopDecode();

            await().atMost(Duration.ofSeconds(20))
                    .until(() -> suite.get("/health").statusCode() == 503);
            HttpResponse<String> refused = suite.post(PATH, Suite.chat("\"stream\":true"));
            assertThat(refused.statusCode()).isEqualTo(503);
            assertThat(refused.body()).contains("decode_unavailable");
            assertThat(refused.headers().firstValue("Retry-After")).isPresent();
        }
    }
}
