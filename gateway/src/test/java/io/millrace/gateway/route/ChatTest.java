package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.gateway.fake.FakeDecode;
import io.millrace.gateway.fake.FakeDecode.Script;
import io.millrace.gateway.fake.Suite;
import io.millrace.gateway.fake.SuiteExtension;
import io.millrace.proto.v1.Finish;
import io.millrace.proto.v1.FinishReason;
import io.millrace.proto.v1.GenerateRequest;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import tools.jackson.databind.JsonNode;

@ExtendWith(SuiteExtension.class)
class ChatTest {
    private static final String STREAM = "\"stream\":true";
    private static final String TOOLS = "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\","
            + "\"parameters\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"},"
            + "\"days\":{\"type\":\"integer\"}}}}}]";
    private final Suite suite;

    ChatTest(Suite suite) {
        this.suite = suite;
    }

    private GenerateRequest sent() {
        assertThat(suite.decodeRequests()).hasSize(1);
        return suite.decodeRequests().getFirst().getRequest();
    }

    @Test
    void answersInOpenAiShape() {
        suite.answer("I add.</think>The sum is 95.");
        suite.prefill.cachedTokens = 7;

        JsonNode reply = suite.chatReply();

        assertThat(reply.get("id").asString()).startsWith("chatcmpl-");
        assertThat(reply.get("object").asString()).isEqualTo("chat.completion");
        assertThat(reply.get("model").asString()).isEqualTo("millrace-mini");
        JsonNode choice = reply.get("choices").get(0);
        assertThat(choice.get("message").get("role").asString()).isEqualTo("assistant");
        assertThat(choice.get("message").get("content").asString()).isEqualTo("The sum is 95.");
        assertThat(choice.get("message").get("reasoning_content").asString()).isEqualTo("I add.");
        assertThat(choice.get("finish_reason").asString()).isEqualTo("stop");
        JsonNode usage = reply.get("usage");
        int completion = suite.ids("I add.</think>The sum is 95.").size() + 1;
        assertThat(usage.get("prompt_tokens").asInt()).isEqualTo(sent().getPromptIdsCount());
        assertThat(usage.get("completion_tokens").asInt()).isEqualTo(completion);
        assertThat(usage.get("total_tokens").asInt()).isEqualTo(sent().getPromptIdsCount() + completion);
        assertThat(usage.get("prompt_tokens_details").get("cached_tokens").asInt())
                .isEqualTo(7);
        JsonNode timings = reply.get("timings");
        assertThat(timings.get("prefill_ms").asDouble()).isEqualTo(12);
        assertThat(timings.get("transfer_ms").asDouble()).isEqualTo(4);
        assertThat(timings.get("services").get("prefill").get(0).asString()).isEqualTo("prefill-a");
        assertThat(timings.get("services").get("decode").get(0).asString()).startsWith("decode-");
    }

    @Test
    void streamsOneFinishReasonAndNoEmptyFirstChunk() {
        suite.answer("Why.</think>Because.");

        List<JsonNode> chunks =
                suite.stream("/v1/chat/completions", Suite.chat(STREAM, "\"stream_options\":{\"include_usage\":true}"));

        JsonNode first = chunks.getFirst().get("choices").get(0).get("delta");
        assertThat(first.get("role").asString()).isEqualTo("assistant");
        assertThat(first.get("reasoning_content").asString()).isNotEmpty();
        List<String> reasons = new ArrayList<>();
        StringBuilder content = new StringBuilder();
        for (JsonNode chunk : chunks.subList(0, chunks.size() - 1)) {
            assertThat(chunk.get("object").asString()).isEqualTo("chat.completion.chunk");
            assertThat(chunk.get("id")).isEqualTo(chunks.getFirst().get("id"));
            assertThat(chunk.get("usage").isNull()).isTrue();
            JsonNode choice = chunk.get("choices").get(0);
            if (!choice.get("finish_reason").isNull()) {
                reasons.add(choice.get("finish_reason").asString());
                assertThat(choice.get("delta").isEmpty()).isTrue();
            }
            content.append(choice.get("delta").path("content").asString(""));
        }
        assertThat(reasons).containsExactly("stop");
        assertThat(content.toString()).isEqualTo("Because.");
        assertThat(chunks.getLast().get("choices").isEmpty()).isTrue();
        assertThat(chunks.getLast().get("usage").get("completion_tokens").asInt())
                .isEqualTo(suite.ids("Why.</think>Because.").size() + 1);
    }

    @Test
    void leavesTheUsageChunkOutWhenNobodyAsks() {
        List<JsonNode> chunks = suite.stream("/v1/chat/completions", Suite.chat(STREAM));

        assertThat(chunks).allSatisfy(chunk -> assertThat(chunk.has("usage")).isFalse());
    }

    @Test
    void samplesAsTheCheckpointRecommends() {
        suite.chatReply();

        assertThat(sent().getSampling().getTemperature()).isEqualTo(1f);
        assertThat(sent().getSampling().getTopP()).isEqualTo(0.95f);
        assertThat(sent().getSampling().hasTopK()).isFalse();
        assertThat(sent().getSampling().hasTopLogprobs()).isFalse();
        assertThat(sent().getStopIdsList()).containsExactlyElementsOf(suite.model.endIds());
    }

    @Test
    void passesOnWhatTheRequestSays() {
        suite.chatReply(
                "\"temperature\":0",
                "\"top_p\":0.5",
                "\"top_k\":40",
                "\"min_p\":0.1",
                "\"seed\":-3",
                "\"stop\":[\"END\",\"FIN\"]",
                "\"stop_token_ids\":[5]",
                "\"ignore_eos\":true",
                "\"max_tokens\":9",
                "\"enable_mtp\":true");

        assertThat(sent().getSampling().hasTemperature()).isTrue();
        assertThat(sent().getSampling().getTemperature()).isZero();
        assertThat(sent().getSampling().getTopP()).isEqualTo(0.5f);
        assertThat(sent().getSampling().getTopK()).isEqualTo(40);
        assertThat(sent().getSampling().getMinP()).isEqualTo(0.1f);
        assertThat(sent().getSeed()).isEqualTo(-3);
        assertThat(sent().getStopStringsList()).containsExactly("END", "FIN");
        assertThat(sent().getStopIdsList()).containsExactly(5);
        assertThat(sent().getMaxTokens()).isEqualTo(9);
        assertThat(sent().getEnableMtp()).isTrue();
        assertThat(sent().getLeaseId()).isEqualTo(sent().getRequestId() + "/0/0");
    }

    @Test
    void drawsAnotherSeedForEachRequest() {
        suite.chatReply();
        suite.chatReply();

        assertThat(suite.decodeRequests().stream()
                        .map(request -> request.getRequest().getSeed()))
                .doesNotHaveDuplicates();
    }

    @Test
    void countsNullAsAbsentAndClampsWhatDoesNotFit() {
        suite.chatReply("\"max_tokens\":null", "\"temperature\":null", "\"stop\":null", "\"tools\":null", "\"n\":null");
        suite.chatReply("\"max_tokens\":1000000000");

        int prompt = suite.decodeRequests().getFirst().getRequest().getPromptIdsCount();
        assertThat(suite.decodeRequests())
                .allSatisfy(request ->
                        assertThat(request.getRequest().getMaxTokens()).isEqualTo(1024 - prompt));
    }

    @Test
    void acceptsWhatHasNoEffectAndWhatItDoesNotKnow() {
        suite.chatReply(
                "\"user\":\"u\"",
                "\"metadata\":{\"a\":\"b\"}",
                "\"store\":false",
                "\"parallel_tool_calls\":true",
                "\"frequency_penalty\":0",
                "\"min_tokens\":-0.0",
                "\"presence_penalty\":0.0",
                "\"repetition_penalty\":1",
                "\"logit_bias\":{}",
                "\"response_format\":{\"type\":\"text\"}",
                "\"some_future_field\":{\"x\":[1]}");
    }

    @Test
    void switchesThinkingOff() {
        suite.answer("Plain.");
        JsonNode glm = suite.chatReply("\"thinking\":{\"type\":\"disabled\"}");
        JsonNode kwargs = suite.chatReply("\"chat_template_kwargs\":{\"enable_thinking\":false}");

        assertThat(glm.get("choices").get(0).get("message").get("content").asString())
                .isEqualTo("Plain.");
        assertThat(kwargs.get("choices").get(0).get("message").has("reasoning_content"))
                .isFalse();
        assertThat(suite.decodeRequests().get(0).getRequest().getPromptIdsList())
                .isEqualTo(suite.decodeRequests().get(1).getRequest().getPromptIdsList());
    }

    @Test
    void reportsToolCalls() {
        suite.answer("Look.</think><tool_call>get_weather<arg_key>city</arg_key><arg_value>12</arg_value>"
                + "<arg_key>days</arg_key><arg_value>2</arg_value></tool_call>");

        JsonNode choice = suite.chatReply(TOOLS).get("choices").get(0);

        assertThat(choice.get("finish_reason").asString()).isEqualTo("tool_calls");
        assertThat(choice.get("message").get("content").isNull()).isTrue();
        JsonNode call = choice.get("message").get("tool_calls").get(0);
        assertThat(call.get("type").asString()).isEqualTo("function");
        assertThat(call.get("id").asString()).startsWith("call_");
        assertThat(call.get("function").get("name").asString()).isEqualTo("get_weather");
        JsonNode arguments =
                Suite.JSON.readTree(call.get("function").get("arguments").asString());
        assertThat(arguments.get("city").isString()).isTrue();
        assertThat(arguments.get("days").asInt()).isEqualTo(2);
    }

    @Test
    void endsAToolCallThatTheLengthCutOffWithLength() {
        suite.answerCutOff("</think><tool_call>get_weather<arg_key>city</arg_key><arg_value>Par");

        JsonNode choice = suite.chatReply(TOOLS).get("choices").get(0);

        assertThat(choice.get("finish_reason").asString()).isEqualTo("length");
    }

    @Test
    void hidesToolsWhenNoneMayBeCalled() {
        suite.chatReply();
        suite.chatReply(TOOLS, "\"tool_choice\":\"none\"");
        suite.chatReply(TOOLS, "\"tool_choice\":\"auto\"");

        List<Integer> lengths = new ArrayList<>();
        suite.prefill.requests.forEach(request -> lengths.add(request.getPromptIdsCount()));
        assertThat(lengths.get(1)).isEqualTo(lengths.get(0));
        assertThat(lengths.get(2)).isGreaterThan(lengths.get(0));
    }

    @Test
    void cutsTheStopStringAndWhatFollowsIt() {
        List<Integer> ids = suite.ids("</think>One. STOP and more");
        Finish finish = Finish.newBuilder()
                .setReason(FinishReason.FINISH_REASON_STOP)
                .setStopString("STOP")
                .setCutCharacters("STOP and more".length())
                .build();
        suite.script(new Script(ids, ids.size(), finish));

        JsonNode cut = suite.chatReply("\"stop\":\"STOP\"").get("choices").get(0);
        JsonNode kept = suite.chatReply("\"stop\":\"STOP\"", "\"include_stop_str_in_output\":true")
                .get("choices")
                .get(0);

        assertThat(cut.get("message").get("content").asString()).isEqualTo("One. ");
        assertThat(cut.get("finish_reason").asString()).isEqualTo("stop");
        assertThat(cut.get("stop_reason").asString()).isEqualTo("STOP");
        assertThat(kept.get("message").get("content").asString()).isEqualTo("One. STOP");
    }

    @Test
    void hidesTheStopTokenOfTheCallerUnlessAsked() {
        List<Integer> ids = new ArrayList<>(suite.ids("</think>A"));
        int stop = suite.ids("B").getFirst();
        ids.add(stop);
        suite.script(new Script(ids, 1, FakeDecode.stop(stop, 0)));
        String stopIds = "\"stop_token_ids\":[" + stop + "]";

        JsonNode hidden = suite.chatReply(stopIds).get("choices").get(0);
        JsonNode shown = suite.chatReply(stopIds, "\"include_stop_str_in_output\":true")
                .get("choices")
                .get(0);

        assertThat(hidden.get("message").get("content").asString()).isEqualTo("A");
        assertThat(hidden.get("stop_reason").asInt()).isEqualTo(stop);
        assertThat(shown.get("message").get("content").asString()).isEqualTo("AB");
    }

    @Test
    void reportsLogProbabilitiesOfEveryShownToken() {
        suite.answer("</think>Yes");

        JsonNode logprobs = suite.chatReply("\"logprobs\":true", "\"top_logprobs\":2")
                .get("choices")
                .get(0)
                .get("logprobs")
                .get("content");

        assertThat(logprobs.size()).isEqualTo(suite.ids("</think>Yes").size());
        JsonNode last = logprobs.get(logprobs.size() - 1);
        assertThat(last.get("logprob").asDouble()).isEqualTo(-0.5);
        assertThat(last.get("top_logprobs").size()).isEqualTo(2);
        assertThat(last.get("bytes").isEmpty()).isFalse();
    }

    @Test
    void answersEachChoiceByItself() {
        suite.decodeA.scripts = request -> choiceScript(request.getChoiceIndex());
        suite.decodeB.scripts = suite.decodeA.scripts;

        JsonNode reply = suite.chatReply("\"n\":3", "\"seed\":5");

        assertThat(reply.get("choices").size()).isEqualTo(3);
        for (int i = 0; i < 3; i++) {
            JsonNode choice = reply.get("choices").get(i);
            assertThat(choice.get("index").asInt()).isEqualTo(i);
            assertThat(choice.get("message").get("content").asString()).isEqualTo("Number " + i);
        }
        int prompt = suite.prefill.requests.getFirst().getPromptIdsCount();
        assertThat(reply.get("usage").get("prompt_tokens").asInt()).isEqualTo(prompt);
        assertThat(suite.decodeRequests().stream()
                        .map(request -> request.getRequest().getSeed()))
                .containsOnly(5L);
        assertThat(suite.decodeRequests().stream()
                        .map(request -> request.getRequest().getLeaseId()))
                .doesNotHaveDuplicates();
    }

    private Script choiceScript(int index) {
        return new Script(suite.ids("</think>Number " + index), 2, FakeDecode.stop(0, 0));
    }

    @Test
    void echoesTheRequestId() {
        assertThat(suite.get("/v1/models").headers().firstValue("X-Request-Id")).isPresent();
        var request = java.net.http.HttpRequest.newBuilder(suite.uri("/v1/models"))
                .header("X-Request-Id", "abc-123")
                .build();
        assertThat(suite.send(request).headers().firstValue("X-Request-Id")).hasValue("abc-123");
    }

    @Test
    void countsEveryRequestOnceInItsMetrics() {
        double before = suite.metric("vllm:time_to_first_token_seconds_count");
        double successes = suite.metric("vllm:request_success_total");
        for (int i = 0; i < 3; i++) {
            suite.chatReply();
        }

        assertThat(suite.metric("vllm:time_to_first_token_seconds_count")).isEqualTo(before + 3);
        assertThat(suite.metric("vllm:request_success_total")).isEqualTo(successes + 3);
        assertThat(suite.metrics().lines().filter(line -> line.startsWith("vllm:")))
                .isNotEmpty()
                .allMatch(line -> line.contains("model_name=\""));
    }
}
