package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.gateway.fake.FakeDecode;
import io.millrace.gateway.fake.FakeDecode.Mishap;
import io.millrace.gateway.fake.Suite;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;

/// Instances that say nothing more, while their connections stand.
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LostInstanceTest {
    private static final String PATH = "/v1/chat/completions";
    private static final Duration SECONDS = Duration.ofSeconds(20);
    private final Suite suite = new Suite(Object.class, "--millrace.gateway.describe-timeout=200ms");

    @AfterEach
    void close() {
        suite.close();
    }

    @Test
    void decodeComputesThePromptOfAPrefillThatFellSilent() {
        suite.answer("</think>Yes.");
        suite.prefill.hangs = true;
        suite.prefill.silent = true;
        long begin = System.nanoTime();

        JsonNode reply = suite.chatReply();

        assertThat(reply.get("choices").get(0).get("message").get("content").asString())
                .isEqualTo("Yes.");
        assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(SECONDS);
        assertThat(suite.prefill.requests).hasSize(1);
        assertThat(suite.decodeRequests()).hasSize(1);
    }

    @Test
    void aStreamGoesOnAtAnotherInstanceWhenItsOwnFallsSilent() {
        suite.answer("</think>One two three four five.");
        suite.chatReply();
        // Idle instances take turns.
        boolean isFirst = suite.decodeA.requests.isEmpty();
        FakeDecode next = isFirst ? suite.decodeA : suite.decodeB;
        FakeDecode other = isFirst ? suite.decodeB : suite.decodeA;
        next.mishaps.add(new Mishap.Hang(3));
        next.silent = true;
        long begin = System.nanoTime();

        List<JsonNode> chunks = suite.stream(PATH, Suite.chat("\"stream\":true"));

        StringBuilder text = new StringBuilder();
        for (JsonNode chunk : chunks) {
            text.append(
                    chunk.path("choices").path(0).path("delta").path("content").asString(""));
        }
        assertThat(text.toString()).isEqualTo("One two three four five.");
        assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin)).isLessThan(SECONDS.toMillis());
        assertThat(next.requests).hasSize(1);
        assertThat(other.requests)
                .as("the first request and the rest of the second")
                .hasSize(2);
    }
}
