package io.millrace.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.it.RunningSuites.OneProcess;
import io.millrace.it.rest.Question;
import io.millrace.it.rest.RestClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/// What a caller gets wrong, over real HTTP against the whole suite: the right status, one sentence in
/// OpenAI's shape that names what is wrong, and a server that goes on.
@ExtendWith(RunningSuites.class)
class BadInputIT {
    private static final String CHAT = "/v1/chat/completions";
    private static final String MESSAGES = "\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]";

    private final RestClient rest;

    BadInputIT(OneProcess suite) {
        this.rest = suite.rest();
    }

    @AfterEach
    void serverIsAlive() {
        assertThat(rest.get("/health").statusCode()).isEqualTo(200);
        assertThat(rest.ask(Question.chat("alive", "Hi", "\"max_tokens\":1"))
                        .counted()
                        .completionTokens())
                .isEqualTo(1);
    }

    private static String chat(String... fields) {
        return "{" + MESSAGES + (fields.length == 0 ? "" : "," + String.join(",", fields)) + "}";
    }

    private static void refused(HttpResponse<String> response, int status, String code, @Nullable String param) {
        assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
        assertThat(response.headers().firstValue("Content-Type").orElse("")).startsWith("application/json");
        JsonNode body = RestClient.JSON.readTree(response.body());
        assertThat(body.propertyNames()).containsExactly("error");
        JsonNode error = body.required("error");
        assertThat(error.propertyNames()).containsExactlyInAnyOrder("message", "type", "param", "code");
        assertThat(error.required("code").asString()).isEqualTo(code);
        assertThat(error.required("type").asString()).endsWith("_error");
        String sentence = error.required("message").asString();
        assertThat(sentence).isNotBlank().hasSizeLessThan(400).doesNotContain("\n", "Exception", "io.millrace");
        JsonNode named = error.required("param");
        if (param == null) {
            assertThat(named.isNull()).as(response.body()).isTrue();
        } else {
            assertThat(named.asString()).isEqualTo(param);
            assertThat(sentence).contains(param);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "`\"max_tokens\":0`                       | max_tokens",
                "`\"max_tokens\":-1`                      | max_tokens",
                "`\"max_tokens\":1.5`                     | max_tokens",
                "`\"max_tokens\":\"5\"`                   | max_tokens",
                "`\"max_tokens\":18446744073709551616`    | max_tokens",
                "`\"max_tokens\":true`                    | max_tokens",
                "`\"max_tokens\":[1]`                     | max_tokens",
                "`\"temperature\":-1`                     | temperature",
                "`\"temperature\":\"1\"`                  | temperature",
                "`\"top_p\":0`                            | top_p",
                "`\"top_k\":0.01`                         | top_k",
                "`\"n\":0`                                | n",
                "`\"stop\":[1]`                           | stop[0]",
                "`\"stream\":\"yes\"`                     | stream",
                "`\"stop_token_ids\":[9999999]`           | stop_token_ids[0]",
            })
    void badParameterIsNamed(String field, String param) {
        refused(rest.post(CHAT, chat(field)), 400, "invalid_request", param);
        if (!param.equals("stream")) {
            refused(rest.post(CHAT, chat(field, "\"stream\":true")), 400, "invalid_request", param);
        }
        if (!param.equals("n")) {
            String completion = "{\"prompt\":\"Hi\"," + field + "}";
            refused(rest.post("/v1/completions", completion), 400, "invalid_request", param);
        }
    }

    @Test
    void nullMeansAbsentAndALargeMaxTokensIsNoError() {
        HttpResponse<String> absent = rest.post(
                "/v1/completions",
                "{\"prompt\":\"1 + 1 =\",\"temperature\":null,\"max_tokens\":null,\"stop\":\"\\n\"}");
        assertThat(absent.statusCode()).as(absent.body()).isEqualTo(200);

        HttpResponse<String> clamped =
                rest.post("/v1/completions", "{\"prompt\":\"1 + 1 =\",\"max_tokens\":1000000000,\"stop\":\"\\n\"}");
        assertThat(clamped.statusCode()).as(clamped.body()).isEqualTo(200);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{",
                "[1",
                "{\"prompt\":\"a\"} trailing",
                "{\"prompt\":\"a\",\"prompt\":\"b\"}",
                "{\"temperature\":NaN}",
                "{\"temperature\":1e999}",
                "{\"prompt\":\"\\ud800\"}",
                "{'prompt':'a'}",
                "{\"a\":\"\\x\"}"
            })
    void badJsonIsRefusedEverywhere(String body) {
        for (String path : new String[] {CHAT, "/v1/completions", "/inference", "/tokenize", "/detokenize"}) {
            refused(rest.post(path, body), 400, "invalid_json", null);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "`{}`                                                     | messages",
                "`{\"messages\":[]}`                                      | messages",
                "`{\"messages\":\"Hi\"}`                                  | messages",
                "`{\"messages\":[{\"content\":\"x\"}]}`                   | messages[0].role",
                "`{\"messages\":[{\"role\":\"user\",\"content\":5}]}`     | messages[0].content",
            })
    void badMessagesAreNamed(String body, String param) {
        refused(rest.post(CHAT, body), 400, "invalid_request", param);
    }

    @ParameterizedTest
    @ValueSource(strings = {"image_url", "input_audio", "video_url"})
    void partsThatAreNoTextAreUnsupported(String type) {
        String body = "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"" + type + "\",\"" + type
                + "\":{\"url\":\"data:,\"}}]}]}";

        refused(rest.post(CHAT, body), 400, "unsupported_content", "messages[0].content[0]");
    }

    @ParameterizedTest
    @ValueSource(strings = {"top_p", "seed", "messages", "max_token"})
    void inferenceTakesItsOwnFieldsOnly(String field) {
        refused(rest.post("/inference", "{\"prompt\":\"a\",\"" + field + "\":1}"), 400, "invalid_request", field);
    }

    @Test
    void unknownModelIsNotFound() {
        refused(rest.post(CHAT, chat("\"model\":\"gpt-9\"")), 404, "model_not_found", "model");
        refused(rest.get("/v1/models/gpt-9"), 404, "model_not_found", "model");
    }

    @ParameterizedTest
    @ValueSource(strings = {"4096", "-1", "99999999999", "18446744073709551616", "1.5", "\"1\"", "null"})
    void tokenIdOutOfRangeIsNamed(String id) {
        refused(rest.post("/detokenize", "{\"tokens\":[5," + id + "]}"), 400, "invalid_request", "tokens[1]");
    }

    @Test
    void tokenIdOutOfRangeIsRefusedInAPromptToo() {
        refused(rest.post("/v1/completions", "{\"prompt\":[5,4096]}"), 400, "invalid_request", "prompt[1]");
    }

    @Test
    void promptOfAMegabyteIsRefusedWithTheLeastItHas() {
        HttpResponse<String> response = rest.post(CHAT, chat().replace("Hi", "word ".repeat(200_000)));

        refused(response, 400, "context_length_exceeded", null);
        assertThat(response.body()).contains("8192").containsPattern("prompt has at least \\d{5} tokens");
    }

    @Test
    void promptThatLeavesNoRoomForOneTokenIsRefused() {
        String ids = "1,".repeat(8191) + "1";

        HttpResponse<String> response = rest.post("/v1/completions", "{\"prompt\":[" + ids + "]}");

        refused(response, 400, "context_length_exceeded", null);
        assertThat(response.body()).contains("8192 tokens");
    }

    @ParameterizedTest
    @ValueSource(strings = {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"})
    void wrongContentTypeIsRefused(String type) {
        HttpRequest request = rest.request(CHAT)
                .header("Content-Type", type)
                .POST(BodyPublishers.ofString(chat()))
                .build();

        refused(rest.send(request), 415, "unsupported_media_type", null);
    }

    @ParameterizedTest
    @CsvSource({
        "GET, /v1/chat/completions, POST",
        "PUT, /v1/completions, POST",
        "DELETE, /inference, POST",
        "GET, /tokenize, POST",
        "POST, /v1/models, 'GET, HEAD'"
    })
    void wrongMethodIsRefusedAndTheRightOneNamed(String method, String path, String allowed) {
        HttpResponse<String> response = rest.send(
                rest.request(path).method(method, BodyPublishers.ofString("{}")).build());

        refused(response, 405, "method_not_allowed", null);
        assertThat(response.headers().firstValue("Allow")).hasValue(allowed);
    }

    @ParameterizedTest
    @ValueSource(strings = {"/", "/v1", "/v1/embeddings", "/actuator/env", "/inference/x", "/error"})
    void unknownRouteIsNotFound(String path) {
        refused(rest.get(path), 404, "route_not_found", null);
    }
}
