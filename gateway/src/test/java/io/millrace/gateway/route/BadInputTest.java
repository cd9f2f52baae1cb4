package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.gateway.fake.Suite;
import io.millrace.gateway.fake.SuiteExtension;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

@ExtendWith(SuiteExtension.class)
class BadInputTest {
    private final Suite suite;

    BadInputTest(Suite suite) {
        this.suite = suite;
    }

    @AfterEach
    void serverIsAlive() {
        assertThat(suite.get("/health").statusCode()).isEqualTo(200);
        assertThat(suite.post("/v1/chat/completions", Suite.chat()).statusCode())
                .isEqualTo(200);
    }

    private void refused(HttpResponse<String> response, int status, String code, @Nullable String param) {
        assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
        assertThat(response.headers().firstValue("Content-Type")).hasValue("application/json");
        assertThat(response.headers().firstValue("X-Request-Id")).isPresent();
        JsonNode error = Suite.JSON.readTree(response.body()).get("error");
        assertThat(error.propertyNames()).containsExactly("message", "type", "param", "code");
        assertThat(error.get("code").asString()).as(response.body()).isEqualTo(code);
        assertThat(error.get("message").asString()).isNotEmpty().doesNotContain("\n");
        JsonNode named = error.get("param");
        assertThat(named.isNull() ? null : named.asString()).isEqualTo(param);
        assertThat(suite.decodeRequests()).isEmpty();
        assertThat(suite.prefill.requests).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "`\"max_tokens\":0`                                     | invalid_request     | max_tokens",
                "`\"max_tokens\":-1`                                    | invalid_request     | max_tokens",
                "`\"max_tokens\":1.5`                                   | invalid_request     | max_tokens",
                "`\"max_tokens\":\"10\"`                                | invalid_request     | max_tokens",
                "`\"max_tokens\":18446744073709551616`                  | invalid_request     | max_tokens",
                "`\"max_completion_tokens\":0`                          | invalid_request     | max_completion_tokens",
                "`\"max_tokens\":1,\"max_completion_tokens\":2`         | invalid_request     | max_completion_tokens",
                "`\"temperature\":-1`                                   | invalid_request     | temperature",
                "`\"temperature\":\"1\"`                                | invalid_request     | temperature",
                "`\"temperature\":2.5`                                  | invalid_request     | temperature",
                "`\"top_p\":0`                                          | invalid_request     | top_p",
                "`\"top_p\":1e-300`                                     | invalid_request     | top_p",
                "`\"top_p\":1e-46`                                      | invalid_request     | top_p",
                "`\"top_p\":-0.0`                                       | invalid_request     | top_p",
                "`\"top_p\":1.1`                                        | invalid_request     | top_p",
                "`\"top_k\":0.5`                                        | invalid_request     | top_k",
                "`\"top_k\":-2`                                         | invalid_request     | top_k",
                "`\"min_p\":2`                                          | invalid_request     | min_p",
                "`\"n\":0`                                              | invalid_request     | n",
                "`\"n\":17`                                             | invalid_request     | n",
                "`\"seed\":1.5`                                         | invalid_request     | seed",
                "`\"stop\":1`                                           | invalid_request     | stop",
                "`\"stop\":[\"a\",1]`                                   | invalid_request     | stop[1]",
                "`\"stop\":\"\"`                                        | invalid_request     | stop",
                "`\"stop_token_ids\":[4096]`                            | invalid_request     | stop_token_ids[0]",
                "`\"stop_token_ids\":[-1]`                              | invalid_request     | stop_token_ids[0]",
                "`\"logprobs\":1`                                       | invalid_request     | logprobs",
                "`\"logprobs\":true,\"top_logprobs\":21`                | invalid_request     | top_logprobs",
                "`\"top_logprobs\":2`                                   | invalid_request     | top_logprobs",
                "`\"stream\":\"true\"`                                  | invalid_request     | stream",
                "`\"stream_options\":{\"include_usage\":true}`          | invalid_request     | stream_options",
                "`\"model\":1`                                          | invalid_request     | model",
                "`\"tools\":{}`                                         | invalid_request     | tools",
                "`\"tools\":[{\"type\":\"function\"}]`                  | invalid_request     | tools[0].function",
                "`\"tools\":[{\"type\":\"function\",\"function\":{}}]`  | invalid_request     | tools[0].function.name",
                "`\"tool_choice\":\"required\"`                         | not_supported       | tool_choice",
                "`\"tool_choice\":{\"type\":\"function\"}`              | not_supported       | tool_choice",
                "`\"tool_choice\":\"any\"`                              | invalid_request     | tool_choice",
                "`\"thinking\":{\"type\":\"off\"}`                      | invalid_request     | thinking.type",
                "`\"reasoning_effort\":\"extreme\"`                    | invalid_request     | reasoning_effort",
                "`\"reasoning_effort\":3`                              | invalid_request     | reasoning_effort",
                "`\"chat_template_kwargs\":{\"messages\":[]}` | invalid_request     | chat_template_kwargs.messages",
                "`\"response_format\":{\"type\":\"json_object\"}`       | not_supported       | response_format.type",
                "`\"frequency_penalty\":0.5`                            | not_supported       | frequency_penalty",
                "`\"presence_penalty\":1`                               | not_supported       | presence_penalty",
                "`\"logit_bias\":{\"9999999\":1}`                       | not_supported       | logit_bias",
                "`\"functions\":[{\"name\":\"f\"}]`                     | not_supported       | functions",
                "`\"best_of\":2`                                        | not_supported       | best_of",
            })
    void refusesBadParametersByName(String fields, String code, String param) {
        refused(suite.post("/v1/chat/completions", Suite.chat(fields)), 400, code, param);
        if (!fields.contains("stream")) {
            refused(suite.post("/v1/chat/completions", Suite.chat("\"stream\":true", fields)), 400, code, param);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "`{}`                                                            | invalid_request     | messages",
                "`{\"messages\":null}`                                           | invalid_request     | messages",
                "`{\"messages\":[]}`                                             | invalid_request     | messages",
                "`{\"messages\":\"Hi\"}`                                         | invalid_request     | messages",
                "`{\"messages\":[1]}`                                            | invalid_request     | messages[0]",
                "`{\"messages\":[{\"content\":\"x\"}]}` | invalid_request     | messages[0].role",
                "`{\"messages\":[{\"role\":\"bot\",\"content\":\"x\"}]}` | invalid_request     | messages[0].role",
                "`{\"messages\":[{\"role\":\"user\",\"content\":5}]}` | invalid_request     | messages[0].content",
            })
    void refusesBadMessages(String body, String code, String param) {
        refused(suite.post("/v1/chat/completions", body), 400, code, param);
    }

    @ParameterizedTest
    @ValueSource(strings = {"image_url", "input_audio", "video_url", "file"})
    void refusesPartsThatAreNoText(String type) {
        String body = Suite.chat().replace("\"Hi\"", "[{\"type\":\"" + type + "\"}]");

        refused(suite.post("/v1/chat/completions", body), 400, "unsupported_content", "messages[0].content[0]");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{",
                "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]} extra",
                "{\"n\":1,\"n\":1}",
                "{\"temperature\":NaN}",
                "{\"user\":\"\\ud800\"}"
            })
    void refusesBadJsonAtEveryEndpoint(String body) {
        for (String path :
                new String[] {"/v1/chat/completions", "/v1/completions", "/inference", "/tokenize", "/detokenize"}) {
            refused(suite.post(path, body), 400, "invalid_json", null);
        }
    }

    @Test
    void refusesAnUnknownModel() {
        refused(suite.post("/v1/chat/completions", Suite.chat("\"model\":\"gpt-9\"")), 404, "model_not_found", "model");
        refused(suite.post("/v1/completions", "{\"model\":\"x\",\"prompt\":\"a\"}"), 404, "model_not_found", "model");
        refused(suite.post("/tokenize", "{\"model\":\"x\",\"prompt\":\"a\"}"), 404, "model_not_found", "model");
        refused(suite.get("/v1/models/gpt-9"), 404, "model_not_found", "model");
        // As clients write a slash within a model id.
        HttpResponse<String> slash = suite.get("/v1/models/my%2Fmodel");
        refused(slash, 404, "model_not_found", "model");
        assertThat(slash.body()).contains("The model `my/model` does not exist (expected: millrace-mini).");
        refused(suite.get("/v1%2Fmodels"), 404, "route_not_found", null);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "`{}`                                       | prompt",
                "`{\"prompt\":\"\"}`                        | prompt",
                "`{\"prompt\":[]}`                          | prompt",
                "`{\"prompt\":[1,\"a\"]}`                   | prompt[1]",
                "`{\"prompt\":[4096]}`                      | prompt[0]",
                "`{\"prompt\":[[1],[]]}`                    | prompt[1]",
                "`{\"prompt\":5}`                           | prompt",
                "`{\"prompt\":\"a\",\"logprobs\":21}`       | logprobs",
                "`{\"prompt\":\"a\",\"logprobs\":true}`     | logprobs",
            })
    void refusesBadPrompts(String body, String param) {
        refused(suite.post("/v1/completions", body), 400, "invalid_request", param);
    }

    @ParameterizedTest
    @ValueSource(strings = {"echo", "use_beam_search"})
    void refusesWhatItDoesNotDoForCompletions(String name) {
        refused(suite.post("/v1/completions", "{\"prompt\":\"a\",\"" + name + "\":true}"), 400, "not_supported", name);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "`{\"max_tokens\":5}`                            | prompt",
                "`{\"prompt\":[\"a\"]}`                          | prompt",
                "`{\"prompt\":\"a\",\"top_p\":1}`                | top_p",
                "`{\"prompt\":\"a\",\"seed\":null}`              | seed",
                "`{\"prompt\":\"a\",\"max_tokens\":0}`           | max_tokens",
                "`{\"prompt\":\"a\",\"temperature\":-1}`         | temperature",
                "`{\"prompt\":\"a\",\"enable_mtp\":1}`           | enable_mtp",
                "`{\"prompt\":\"a\",\"stream\":\"yes\"}`         | stream",
            })
    void refusesBadInferenceRequests(String body, String param) {
        refused(suite.post("/inference", body), 400, "invalid_request", param);
    }

    @Test
    void refusesTokenIdsOutOfRange() {
        for (String ids : new String[] {"4096", "-1", "99999999999", "1.5", "\"1\"", "null"}) {
            refused(suite.post("/detokenize", "{\"tokens\":[" + ids + "]}"), 400, "invalid_request", "tokens[0]");
        }
        refused(suite.post("/detokenize", "{}"), 400, "invalid_request", "tokens");
        refused(suite.post("/tokenize", "{\"prompt\":1}"), 400, "invalid_request", "prompt");
    }

    @Test
    void refusesAPromptOfOneMegabyteWithTheLeastItHas() {
        String body = Suite.chat().replace("Hi", "word ".repeat(200_000));

        HttpResponse<String> response = suite.post("/v1/chat/completions", body);

        refused(response, 400, "context_length_exceeded", null);
        assertThat(response.body()).contains("2048").containsPattern("prompt has at least \\d{5} tokens");
    }

    @ParameterizedTest
    @ValueSource(ints = {1024, 1025, 2047, 2048, 5000})
    void namesTheLengthThatTheModelListGives(int tokens) {
        String longest = Suite.JSON
                .readTree(suite.get("/v1/models").body())
                .get("data")
                .get(0)
                .get("max_model_len")
                .asString();
        String ids = "1,".repeat(tokens - 1) + "1";

        HttpResponse<String> response = suite.post("/v1/completions", "{\"prompt\":[" + ids + "]}");

        assertThat(response.statusCode()).isEqualTo(400);
        assertThat(response.body()).contains(" " + longest + " tokens", " " + tokens + " tokens");
    }

    @Test
    void takesThePromptThatLeavesRoomForOneToken() {
        String ids = "1,".repeat(1022) + "1";

        assertThat(suite.post("/v1/completions", "{\"prompt\":[" + ids + "]}").statusCode())
                .isEqualTo(200);
    }

    @Test
    void refusesAPromptLargerThanTheWholePool() {
        String ids = "1,".repeat(1024) + "1";

        refused(suite.post("/v1/completions", "{\"prompt\":[" + ids + "]}"), 400, "kv_pool_exceeded", null);
    }

    @ParameterizedTest
    @ValueSource(ints = {9, 40})
    void refusesABodyBeyondTheLimit(int megabytes) {
        String body = Suite.chat().replace("Hi", "x".repeat(megabytes << 20));

        refused(suite.post("/v1/chat/completions", body), 413, "body_too_large", null);
    }

    @Test
    void namesTheUpperBoundOfANumberThatIsTooLarge() {
        HttpResponse<String> response =
                suite.post("/v1/completions", "{\"prompt\":\"x\",\"seed\":9223372036854775808}");

        refused(response, 400, "invalid_request", "seed");
        assertThat(response.body()).contains("at most 9223372036854775807");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "`\"n\":0`                  | n: 0 (expected: 1..16)",
                "`\"n\":129`                | n: 129 (expected: 1..16)",
                "`\"n\":2.5`                | n: a fraction (expected: an integer)",
                "`\"max_tokens\":9007199254740994.0` | "
                        + "max_tokens: a number with a fraction or exponent (expected: an integer)",
                "`\"model\":1e1`            | model: a number with a fraction or exponent (expected: a string)",
                "`\"max_tokens\":0e0`       | max_tokens: 0 (expected: at least 1)",
                "`\"temperature\":3`        | temperature: 3 (expected: 0..2)",
                "`\"top_p\":0`              | top_p: 0 (expected: more than 0, at most 1)",
                "`\"top_p\":-0.5`           | top_p: -0.5 (expected: more than 0, at most 1)",
                "`\"top_p\":1e-300`        | top_p: 1.0E-300 (expected: at least 1.4E-45, at most 1)",
                "`\"top_p\":1.5`            | top_p: 1.5 (expected: more than 0, at most 1)",
                "`\"reasoning_effort\":\"extreme\"` | `reasoning_effort: \"extreme\" (expected: one of none, minimal, "
                        + "low, medium, high, xhigh, max)`",
                "`\"tool_choice\":\"maybe\"` | `tool_choice: \"maybe\" (expected: auto or none)`",
                "`\"tool_choice\":{}`       | tool_choice: an object without type (expected: auto or none)",
                "`\"tool_choice\":{\"type\":1}` | "
                        + "tool_choice: an object whose type is no string (expected: auto or none)",
                "`\"tool_choice\":3`        | tool_choice: 3 (expected: auto or none)",
                "`\"n\":0,\"best_of\":0`    | n: 0 (expected: 1..16)",
                "`\"n\":1,\"best_of\":0`    | best_of: 0 (expected: 1..16)",
                "`\"stop\":5`               | stop: an integer (expected: a string or a list of up to 16 strings)",
                "`\"tools\":[{\"type\":\"function\"}]` | "
                        + "tools[0].function: nothing (expected: an object with the function's name)",
            })
    void saysWhatIsExpectedInOneTrueSentence(String fields, String message) {
        HttpResponse<String> response = suite.post("/v1/chat/completions", Suite.chat(fields));

        assertThat(response.statusCode()).isEqualTo(400);
        says(response, message);
    }

    @Test
    void takesWholeNumbersHoweverTheyAreWritten() {
        for (String written : new String[] {"10.0", "1e1", "1.0E+1", "100e-1"}) {
            suite.reset();
            suite.chatReply("\"max_tokens\":" + written);
            assertThat(suite.decodeRequests().getFirst().getRequest().getMaxTokens())
                    .isEqualTo(10);
        }
        suite.reset();
        assertThat(suite.post("/v1/completions", "{\"prompt\":[5.0,6]}").statusCode())
                .isEqualTo(200);
        assertThat(suite.decodeRequests().getFirst().getRequest().getPromptIdsList())
                .containsExactly(5, 6);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "`{}`   | an object",
                "`true` | a boolean",
                "`7`    | an integer",
            })
    void saysWhatAPromptCanBe(String prompt, String found) {
        HttpResponse<String> response = suite.post("/v1/completions", "{\"prompt\":" + prompt + "}");

        refused(response, 400, "invalid_request", "prompt");
        assertThat(response.body())
                .contains("prompt: " + found + " (expected: a string, a list of strings or token ids)");
    }

    @Test
    void saysThatAPromptIsAnEmptyList() {
        HttpResponse<String> response = suite.post("/v1/completions", "{\"prompt\":[[1],[]]}");

        refused(response, 400, "invalid_request", "prompt[1]");
        says(response, "prompt[1]: an empty list (expected: at least one token id)");
    }

    private static final String USER = "{\"role\":\"user\",\"content\":\"a\"},";

    @Test
    void namesTheArgumentsThatHoldHalfACharacter() {
        String call = "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":\"f\","
                + "\"arguments\":\"{\\\"a\\\":[\\\"x\\\\ud83d\\\"]}\"}}]},";

        refusedTurn(
                converse(USER, call, answer("c1")),
                "messages[1].tool_calls[0].function.arguments",
                "messages[1].tool_calls[0].function.arguments: half a surrogate pair, U+D83D"
                        + " (expected: whole characters)");
    }

    private static final String CALLS =
            "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":\"f\"}},"
                    + "{\"id\":\"c2\",\"function\":{\"name\":\"g\"}}]},";

    private static String answer(String id) {
        return "{\"role\":\"tool\",\"tool_call_id\":\"" + id + "\",\"content\":\"1\"},";
    }

    private HttpResponse<String> converse(String... turns) {
        String messages = String.join("", turns);
        return suite.post(
                "/v1/chat/completions", "{\"messages\":[" + messages.substring(0, messages.length() - 1) + "]}");
    }

    @Test
    void refusesTurnsThatDoNotFit() {
        String nothing = " (expected: text or a list of text parts, as the message has no tool_calls)";
        refusedTurn(
                converse(USER, "{\"role\":\"assistant\",\"content\":null},", USER),
                "messages[1].content",
                "messages[1].content: null" + nothing);
        refusedTurn(
                converse(USER, "{\"role\":\"assistant\",\"tool_calls\":[]},"),
                "messages[1].content",
                "messages[1].content: missing" + nothing);
        String order = ": \"tool\" (expected: only after an assistant message with tool_calls, or after another answer"
                + " to them)";
        refusedTurn(converse(USER, answer("c1")), "messages[1].role", "messages[1].role" + order);
        refusedTurn(converse(USER, CALLS, USER, answer("c1")), "messages[3].role", "messages[3].role" + order);
        refusedTurn(
                converse(USER, CALLS, answer("c1"), answer("c3")),
                "messages[3].tool_call_id",
                "messages[3].tool_call_id: \"c3\" (expected: the id of one of the tool_calls before it)");
    }

    private static void says(HttpResponse<String> response, String message) {
        assertThat(Suite.JSON
                        .readTree(response.body())
                        .get("error")
                        .get("message")
                        .asString())
                .isEqualTo(message);
    }

    private void refusedTurn(HttpResponse<String> response, String param, String message) {
        refused(response, 400, "invalid_request", param);
        says(response, message);
    }

    @Test
    void takesTurnsThatFit() {
        String unnamed = "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"function\":{\"name\":\"f\"}}]},";
        String unnamedAnswer = "{\"role\":\"tool\",\"content\":\"1\"},";
        assertThat(converse(USER, CALLS, answer("c2"), answer("c1"), USER).statusCode())
                .isEqualTo(200);
        assertThat(converse(USER, unnamed, answer("c1"), CALLS, unnamedAnswer).statusCode())
                .isEqualTo(200);
        assertThat(converse(USER, "{\"role\":\"assistant\",\"content\":\"\"},", USER)
                        .statusCode())
                .isEqualTo(200);
    }

    @Test
    void namesTheExpectedModelWhenNoneIsNamed() {
        HttpResponse<String> response = suite.get("/v1/models/");

        refused(response, 404, "model_not_found", "model");
        assertThat(response.body()).contains("model id: empty (expected: /v1/models/millrace-mini, or /v1/models");
    }

    @Test
    void answersABrokenRequestLineInTheSameShape() {
        HttpRequest request =
                HttpRequest.newBuilder(suite.uri("/v1/models/%00")).build();

        HttpResponse<String> response = suite.send(request);

        assertThat(response.statusCode()).isBetween(400, 404);
        assertThat(Suite.JSON.readTree(response.body()).get("error").get("type").asString())
                .isEqualTo("invalid_request_error");
    }
}
