package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.grpc.Status;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.gateway.fake.FakeDecode.Mishap;
import io.millrace.gateway.fake.Suite;
import io.millrace.gateway.fake.SuiteExtension;
import io.millrace.proto.v1.DecodeRequest;
import io.millrace.proto.v1.GenerateRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

@ExtendWith(SuiteExtension.class)
class FailureTest {
    private static final String RESUMES = "millrace_gateway_decode_resumes_total";
    private static final String PATH = "/v1/chat/completions";
    private static final String STREAM = "\"stream\":true";
    private static final String TEXT = "Because.</think>One two three four five six seven eight nine ten.";
    private final Suite suite;

    FailureTest(Suite suite) {
        this.suite = suite;
    }

    private void bothDecode(Mishap mishap) {
        suite.decodeA.mishaps.add(mishap);
        suite.decodeB.mishaps.add(mishap);
    }

    private static MillraceException full() {
        return new MillraceException(ErrorCode.QUEUE_FULL, "The queue is full.", null, 2500, null);
    }

    private static String content(JsonNode reply) {
        return reply.get("choices").get(0).get("message").get("content").asString();
    }

    private static String code(HttpResponse<String> response) {
        return Suite.JSON.readTree(response.body()).get("error").get("code").asString();
    }

    @Test
    void answersFullDecodeInstancesWithARealStatusAlsoWhenStreaming() {
        for (String body : List.of(Suite.chat(), Suite.chat(STREAM))) {
            suite.reset();
            bothDecode(new Mishap.Refuse(full()));

            HttpResponse<String> response = suite.post(PATH, body);

            assertThat(response.statusCode()).isEqualTo(429);
            assertThat(response.headers().firstValue("Retry-After")).hasValue("3");
            assertThat(code(response)).isEqualTo("queue_full");
            await().untilAsserted(() -> assertThat(suite.cache.released)
                    .containsExactly(suite.prefill.requests.getFirst().getLeaseId()));
        }
    }

    @Test
    void triesTheOtherDecodeInstanceWhenOneIsFull() {
        suite.answer("</think>Yes.");
        // Idle instances take turns: of two requests one at least begins there.
        for (int i = 0; i < 2; i++) {
            suite.decodeA.mishaps.add(new Mishap.Refuse(full()));
            assertThat(content(suite.chatReply())).isEqualTo("Yes.");
        }
        suite.decodeA.mishaps.clear();

        assertThat(suite.decodeA.requests).isNotEmpty();
        assertThat(suite.decodeB.requests).hasSize(2);
        assertThat(suite.decodeRequests()).allSatisfy(request -> {
            assertThat(request.hasPrefill()).isTrue();
            assertThat(request.getRequest().getAttempt()).isZero();
        });
    }

    @Test
    void answersAFullPrefillWithARealStatus() {
        suite.prefill.failures.add(full());

        HttpResponse<String> response = suite.post(PATH, Suite.chat(STREAM));

        assertThat(response.statusCode()).isEqualTo(429);
        assertThat(suite.decodeRequests()).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(
            value = ErrorCode.class,
            names = {"PREFILL_FAILED", "INTERNAL", "SHUTTING_DOWN", "ENGINE_FAILED", "CACHE_FULL"})
    void letsDecodeComputeThePromptWhenPrefillFails(ErrorCode code) {
        suite.answer("</think>Yes.");
        suite.prefill.failures.add(new MillraceException(code, "It failed."));

        assertThat(content(suite.chatReply())).isEqualTo("Yes.");
        DecodeRequest request = suite.decodeRequests().getFirst();
        assertThat(request.hasPrefill()).isFalse();
        assertThat(request.getRequest().getLeaseId())
                .isNotEqualTo(suite.prefill.requests.getFirst().getLeaseId());
    }

    @Test
    void passesAnErrorOfTheRequestOn() {
        suite.prefill.failures.add(MillraceException.ofParam(ErrorCode.CONTEXT_LENGTH_EXCEEDED, "prompt", "Too long."));

        HttpResponse<String> response = suite.post(PATH, Suite.chat());

        assertThat(response.statusCode()).isEqualTo(400);
        assertThat(code(response)).isEqualTo("context_length_exceeded");
    }

    @Test
    void findsNoDecodeForPrefillOfOtherWeights() {
        suite.prefill.weights = 2;
        await().atMost(Duration.ofSeconds(10))
                .untilAsserted(() ->
                        assertThat(suite.post(PATH, Suite.chat()).statusCode()).isEqualTo(503));

        HttpResponse<String> response = suite.post(PATH, Suite.chat(STREAM));

        assertThat(code(response)).isEqualTo("no_matching_decode");
        assertThat(response.headers().firstValue("Retry-After")).isPresent();
        suite.prefill.weights = 1;
        await().atMost(Duration.ofSeconds(10))
                .until(() -> suite.post(PATH, Suite.chat()).statusCode() == 200);
    }

    @ParameterizedTest
    @EnumSource(
            value = Status.Code.class,
            names = {"UNAVAILABLE", "DATA_LOSS", "INTERNAL", "UNKNOWN", "CANCELLED", "ABORTED"})
    void resumesWithoutGapOrRepeatWhenDecodeDies(Status.Code status) {
        suite.answer(TEXT, 2);
        String whole = content(suite.chatReply());
        suite.reset();
        suite.answer(TEXT, 2);
        bothDecode(new Mishap.Die(3, Status.fromCode(status)));
        double resumes = suite.metric(RESUMES);

        List<JsonNode> chunks = suite.stream(PATH, Suite.chat(STREAM));

        assertThat(streamed(chunks)).isEqualTo(whole);
        List<GenerateRequest> requests =
                suite.decodeRequests().stream().map(DecodeRequest::getRequest).toList();
        assertThat(requests).hasSizeGreaterThanOrEqualTo(2);
        List<Integer> ids = suite.ids(TEXT);
        for (GenerateRequest request : requests) {
            int done = request.getGeneratedIdsCount();
            assertThat(request.getGeneratedIdsList()).isEqualTo(ids.subList(0, done));
            assertThat(request.getAttempt()).isEqualTo(done == 0 ? 0 : done / 6);
            assertThat(request.getSeed()).isEqualTo(requests.getFirst().getSeed());
        }
        assertThat(suite.decodeRequests().stream().filter(DecodeRequest::hasPrefill))
                .hasSize(1);
        assertThat(suite.metric(RESUMES)).isEqualTo(resumes + requests.size() - 1);
    }

    private static String streamed(List<JsonNode> chunks) {
        StringBuilder text = new StringBuilder();
        for (JsonNode chunk : chunks) {
            if (!chunk.get("choices").isEmpty()) {
                text.append(
                        chunk.get("choices").get(0).get("delta").path("content").asString(""));
            }
        }
        return text.toString();
    }

    @Test
    void givesUpInsideTheStreamWithTheErrorAndDone() {
        suite.answer(TEXT);
        for (int i = 0; i < 3; i++) {
            bothDecode(new Mishap.Die(1, Status.DATA_LOSS));
        }

        List<JsonNode> chunks = suite.stream(PATH, Suite.chat(STREAM));

        JsonNode error = chunks.getLast().get("error");
        assertThat(error.get("code").asString()).isEqualTo("decode_failed");
        assertThat(error.get("type").asString()).isEqualTo("server_error");
        assertThat(suite.decodeRequests()).hasSize(3);
    }

    @Test
    void givesUpBeforeTheFirstTokenWithARealStatus() {
        double resumes = suite.metric(RESUMES);
        for (int i = 0; i < 3; i++) {
            bothDecode(new Mishap.Die(0, Status.INTERNAL));
        }

        HttpResponse<String> response = suite.post(PATH, Suite.chat(STREAM));

        assertThat(response.statusCode()).isEqualTo(502);
        assertThat(code(response)).isEqualTo("decode_failed");
        assertThat(suite.metric(RESUMES)).isEqualTo(resumes);
    }

    @Test
    void tellsWhyEnginesDiedWhenNoOtherIsLeft() {
        for (int i = 0; i < 3; i++) {
            bothDecode(new Mishap.Refuse(new MillraceException(ErrorCode.ENGINE_FAILED, "It died of age.")));
        }

        HttpResponse<String> response = suite.post(PATH, Suite.chat());

        assertThat(response.statusCode()).isEqualTo(503);
        assertThat(code(response)).isEqualTo("engine_failed");
        assertThat(response.body()).contains("It died of age.");
        assertThat(response.headers().firstValue("Retry-After")).isPresent();
        await().atMost(Duration.ofSeconds(10)).until(() -> suite.get("/health").statusCode() == 200);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void passesOnThatTheModelIsBrokenAndTriesNoOther(boolean inPrefill) {
        String sentence = "the model produced a logit that is not a number at position 0 of the answer";
        MillraceException broken = new MillraceException(ErrorCode.BROKEN_LOGITS, sentence);
        if (inPrefill) {
            suite.prefill.failures.add(broken);
        } else {
            bothDecode(new Mishap.Refuse(broken));
        }

        HttpResponse<String> response = suite.post(PATH, Suite.chat());

        assertThat(response.statusCode()).isEqualTo(500);
        JsonNode error = Suite.JSON.readTree(response.body()).get("error");
        assertThat(error.get("message").asString()).isEqualTo(sentence);
        assertThat(error.get("type").asString()).isEqualTo("server_error");
        assertThat(error.get("code").asString()).isEqualTo("broken_logits");
        assertThat(suite.decodeRequests()).hasSize(inPrefill ? 0 : 1);
        suite.reset();
    }

    @Test
    void treatsAGapAsAnError() {
        suite.answer(TEXT);
        bothDecode(new Mishap.Skip(2));

        List<JsonNode> chunks = suite.stream(PATH, Suite.chat(STREAM));

        assertThat(chunks.getLast().get("error").get("message").asString()).contains("gap");
        await().untilAsserted(() -> assertThat(suite.cache.released).hasSize(1));
    }

    @Test
    void releasesNoLeaseThatDecodeEnded() {
        suite.chatReply();
        suite.prefill.failures.add(new MillraceException(ErrorCode.PREFILL_FAILED, "It failed."));
        suite.chatReply();

        String failed = suite.prefill.requests.getLast().getLeaseId();
        await().untilAsserted(() -> assertThat(suite.cache.released).containsExactly(failed));
    }

    @Test
    void instancesThatAreGoneUseUpNoTriesOfAStreamThatShowedTokens() {
        suite.answer(TEXT);
        bothDecode(new Mishap.Die(3, Status.CANCELLED));
        for (int i = 0; i < 3; i++) {
            bothDecode(new Mishap.Die(0, Status.UNAVAILABLE));
        }

        assertThat(streamed(suite.stream(PATH, Suite.chat(STREAM))))
                .isEqualTo("One two three four five six seven eight nine ten.");
    }

    @Test
    void instancesThatDieOfEachTokenUseUpTheTries() {
        suite.answer(TEXT);
        for (int i = 0; i < 3; i++) {
            bothDecode(new Mishap.Die(1, Status.UNAVAILABLE));
        }

        List<JsonNode> chunks = suite.stream(PATH, Suite.chat(STREAM));

        assertThat(chunks.getLast().get("error").get("code").asString()).isEqualTo("decode_unavailable");
        assertThat(suite.decodeRequests()).hasSize(3);
    }
}
