package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.gateway.fake.Suite;
import io.millrace.gateway.fake.SuiteExtension;
import io.millrace.proto.v1.GenerateRequest;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/// Every endpoint but chat.
@ExtendWith(SuiteExtension.class)
class EndpointTest {
    private final Suite suite;

    EndpointTest(Suite suite) {
        this.suite = suite;
    }

    private JsonNode post(String path, String json) {
        HttpResponse<String> response = suite.post(path, json);
        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        return Suite.JSON.readTree(response.body());
    }

    @Test
    void theManagementPortAnswersAnUnknownPathInJson() {
        HttpResponse<String> response =
                suite.send(HttpRequest.newBuilder(URI.create("http://localhost:" + suite.managementPort() + "/nowhere"))
                        .build());

        assertThat(response.statusCode()).isEqualTo(404);
        assertThat(response.headers().firstValue("Content-Type")).hasValue("application/json");
        assertThat(Suite.JSON.readTree(response.body()).get("error").get("code").asString())
                .isEqualTo("route_not_found");
        assertThat(response.body()).contains("GET /nowhere: no such route on this port");
    }

    @Test
    void theManagementPortTellsWhichMethodAPathTakes() {
        HttpResponse<String> response = suite.send(
                HttpRequest.newBuilder(URI.create("http://localhost:" + suite.managementPort() + "/actuator/info"))
                        .DELETE()
                        .build());

        assertThat(response.statusCode()).isEqualTo(405);
        assertThat(response.body()).contains("HTTP method: DELETE on /actuator/info (expected: GET");
    }

    @Test
    void completesAPrompt() {
        suite.answer(" world");

        JsonNode reply = post("/v1/completions", "{\"prompt\":\"Hello\",\"max_tokens\":5}");

        assertThat(reply.get("object").asString()).isEqualTo("text_completion");
        assertThat(reply.get("choices").get(0).get("text").asString()).isEqualTo(" world");
        assertThat(reply.get("choices").get(0).get("finish_reason").asString()).isEqualTo("stop");
        GenerateRequest sent = suite.decodeRequests().getFirst().getRequest();
        assertThat(sent.getPromptIdsList()).isEqualTo(suite.ids("Hello"));
        assertThat(sent.getMaxTokens()).isEqualTo(5);
        assertThat(reply.get("usage").get("prompt_tokens").asInt())
                .isEqualTo(suite.ids("Hello").size());
    }

    @Test
    void completesSeveralPromptsOfEitherKind() {
        suite.answer("!");

        JsonNode reply = post("/v1/completions", "{\"prompt\":[\"Hello\",[5,6]],\"n\":2}");

        assertThat(reply.get("choices").size()).isEqualTo(4);
        assertThat(reply.get("choices").get(3).get("index").asInt()).isEqualTo(3);
        assertThat(reply.get("usage").get("prompt_tokens").asInt())
                .isEqualTo(suite.ids("Hello").size() + 2);
    }

    @Test
    void streamsACompletionWithLogProbabilities() {
        suite.answer(" big world");

        List<JsonNode> chunks =
                suite.stream("/v1/completions", "{\"prompt\":\"Hello\",\"stream\":true,\"logprobs\":1}");

        StringBuilder text = new StringBuilder();
        int offset = 0;
        for (JsonNode chunk : chunks) {
            JsonNode choice = chunk.get("choices").get(0);
            text.append(choice.get("text").asString());
            if (!choice.get("logprobs").isNull()) {
                assertThat(choice.get("logprobs").get("text_offset").get(0).asInt())
                        .isEqualTo(offset);
                offset += choice.get("logprobs").get("tokens").get(0).asString().length();
            }
        }
        assertThat(text.toString()).isEqualTo(" big world");
    }

    @Test
    void answersInferenceWithTextUsageAndTimings() {
        suite.answer("Thinking.</think>Done.");

        JsonNode reply =
                post("/inference", "{\"prompt\":\"Hi\",\"max_tokens\":64,\"temperature\":0,\"enable_mtp\":true}");

        assertThat(reply.propertyNames())
                .containsExactly("text", "reasoning_content", "finish_reason", "usage", "timings");
        assertThat(reply.get("text").asString()).isEqualTo("Done.");
        assertThat(reply.get("reasoning_content").asString()).isEqualTo("Thinking.");
        assertThat(reply.get("finish_reason").asString()).isEqualTo("stop");
        assertThat(reply.get("timings").get("enable_mtp").asBoolean()).isTrue();
        GenerateRequest sent = suite.decodeRequests().getFirst().getRequest();
        assertThat(sent.getEnableMtp()).isTrue();
        assertThat(sent.getMaxTokens()).isEqualTo(64);
        assertThat(sent.getSampling().getTemperature()).isZero();
        suite.reset();
        suite.chatReply();
        assertThat(sent.getPromptIdsList())
                .isEqualTo(suite.decodeRequests().getFirst().getRequest().getPromptIdsList());
    }

    @Test
    void anEmptyTextOfInferenceHasItsReason() {
        suite.answerCutOff("Thinking and");

        JsonNode whole = post("/inference", "{\"prompt\":\"Hi\"}");
        List<JsonNode> chunks = suite.stream("/inference", "{\"prompt\":\"Hi\",\"stream\":true}");

        for (JsonNode reply : List.of(whole, chunks.getLast())) {
            assertThat(reply.get("text").asString()).isEmpty();
            assertThat(reply.get("reasoning_content").asString()).isEqualTo("Thinking and");
            assertThat(reply.get("finish_reason").asString()).isEqualTo("length");
        }
    }

    @Test
    void fieldsComeInOneOrder() {
        assertThat(suite.get("/v1/models").body()).startsWith("{\"object\":\"list\",\"data\":[{\"id\":");
        suite.answer("</think><tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>");
        String tools = "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]";
        assertThat(suite.post("/v1/chat/completions", Suite.chat(tools)).body())
                .contains("\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"");
        String stream = suite.post("/v1/chat/completions", Suite.chat(tools, "\"stream\":true"))
                .body();
        assertThat(stream)
                .contains("\"function\":{\"name\":\"f\",\"arguments\":\"\"}")
                .contains("\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":");
    }

    @Test
    void streamsInference() {
        suite.answer("Thinking.</think>Done now.");

        List<JsonNode> chunks = suite.stream("/inference", "{\"prompt\":\"Hi\",\"stream\":true,\"max_tokens\":null}");

        StringBuilder text = new StringBuilder();
        chunks.forEach(chunk -> text.append(chunk.get("text").asString()));
        assertThat(text.toString()).isEqualTo("Done now.");
        assertThat(chunks.getLast().get("usage").get("completion_tokens").asInt())
                .isPositive();
        assertThat(chunks.getLast().has("timings")).isTrue();
    }

    @Test
    void isReadyForTheManagementPortToo() {
        URI readiness = URI.create("http://localhost:" + suite.managementPort() + "/actuator/health/readiness");

        HttpResponse<String> response =
                suite.send(HttpRequest.newBuilder(readiness).build());

        assertThat(response.statusCode()).isEqualTo(200);
        assertThat(response.body()).contains("UP");
    }

    @Test
    void listsTheModel() {
        JsonNode list = Suite.JSON.readTree(suite.get("/v1/models").body());
        JsonNode one = Suite.JSON.readTree(suite.get("/v1/models/millrace-mini").body());

        assertThat(list.get("object").asString()).isEqualTo("list");
        assertThat(list.get("data").get(0)).isEqualTo(one);
        assertThat(one.get("id").asString()).isEqualTo("millrace-mini");
        // The fakes allow 2048 tokens, and their pools hold 1024.
        assertThat(one.get("max_model_len").asInt()).isEqualTo(1024);
        assertThat(post("/tokenize", "{\"prompt\":\"a\"}").get("max_model_len").asInt())
                .isEqualTo(1024);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/health", "/v1/models", "/v1/models/millrace-mini"})
    void answersHeadLikeGetWithoutABody(String path) {
        HttpResponse<String> get = suite.get(path);

        HttpResponse<String> head =
                suite.send(HttpRequest.newBuilder(suite.uri(path)).HEAD().build());

        assertThat(head.statusCode()).isEqualTo(get.statusCode()).isEqualTo(200);
        assertThat(head.body()).isEmpty();
        for (String header : List.of("Content-Type", "Content-Length")) {
            assertThat(head.headers().firstValue(header))
                    .isEqualTo(get.headers().firstValue(header))
                    .isPresent();
        }
    }

    @Test
    void tokenizesTextAndMessages() {
        JsonNode text = post("/tokenize", "{\"prompt\":\"Hello world\",\"return_token_strs\":true}");
        JsonNode chat = post("/tokenize", Suite.chat());
        suite.chatReply();

        assertThat(text.propertyNames()).containsExactly("count", "max_model_len", "tokens", "token_strs");
        assertThat(text.get("count").asInt()).isEqualTo(suite.ids("Hello world").size());
        assertThat(text.get("token_strs").size()).isEqualTo(text.get("count").asInt());
        int prompt = suite.decodeRequests().getFirst().getRequest().getPromptIdsCount();
        assertThat(chat.get("count").asInt()).isEqualTo(prompt);
        assertThat(chat.get("token_strs").isNull()).isTrue();
    }

    @Test
    void detokenizesWhatItTokenized() {
        JsonNode tokens = post("/tokenize", "{\"prompt\":\"<|user|>Grüße 😀\"}").get("tokens");

        JsonNode reply = post("/detokenize", "{\"tokens\":" + tokens + "}");

        assertThat(reply.get("prompt").asString()).isEqualTo("<|user|>Grüße 😀");
        assertThat(post("/detokenize", "{\"tokens\":[]}").get("prompt").asString())
                .isEmpty();
    }
}
