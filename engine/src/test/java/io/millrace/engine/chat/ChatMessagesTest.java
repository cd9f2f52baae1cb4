package io.millrace.engine.chat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ChatMessagesTest {
    private static List<Map<String, @Nullable Object>> normalise(String json) {
        return Json.read(json) instanceof Json.Parsed.Value(Object value) ? ChatMessages.normalise(value) : List.of();
    }

    private static String normalised(String json) {
        return Json.write(normalise(json));
    }

    @Test
    void bringsContentToText() {
        assertThat(normalised("[{\"role\":\"user\",\"content\":null},{\"role\":\"assistant\"},{\"role"
                        + "\":\"user\",\"content\":[]}]"))
                .isEqualTo("[{\"role\":\"user\",\"content\":\"\"},{\"role\":\"assistant\",\"content\":\"\"}"
                        + ",{\"role\":\"user\",\"content\":\"\"}]");
        assertThat(normalised("[{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":[{\"type\":\"tex"
                        + "t\",\"text\":\"a \"},{\"type\":\"text\",\"text\":\"b\"}]}]"))
                .isEqualTo("[{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"a b\"}]");
    }

    @Test
    void whoSpeaksHasToSaySomethingButTheAssistant() {
        for (String role : List.of("user", "system", "developer", "tool")) {
            assertThatThrownBy(() -> normalise("[{\"role\":\"" + role + "\",\"contents\":\"x\"}]"))
                    .isInstanceOf(MillraceException.class)
                    .hasMessage("messages[0].content: missing (expected: text or a list of text parts)");
        }
        assertThat(normalised("[{\"role\":\"assistant\"}]")).contains("\"content\":\"\"");
    }

    @Test
    void dropsEmptyAndNullFieldsButNotInsideArguments() {
        assertThat(normalised("[{\"role\":\"assistant\",\"content\":\"x\",\"tool_calls\":[],\"name\":n"
                        + "ull,\"reasoning_content\":null,\"extra\":1}]"))
                .isEqualTo("[{\"role\":\"assistant\",\"content\":\"x\",\"extra\":1}]");
        assertThat(normalised("[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":null,\"function\":{\"n"
                        + "ame\":\"f\",\"arguments\":{\"a\":null,\"b\":[]}}}]}]"))
                .contains("\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":null,\"b\":[]}}}]");
    }

    @Test
    void parsesArgumentTextExactly() {
        String text = "{\\\"n\\\": 123456789012345678901234567890, \\\"s\\\": \\\"7\\\"}";

        assertThat(normalised("[{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\""
                        + text + "\"}}]}]"))
                .contains("\"arguments\":{\"n\":123456789012345678901234567890,\"s\":\"7\"}");
        assertThat(normalised("[{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\","
                        + "\"arguments\":\"\"}},{\"name\":\"g\"}]}]"))
                .contains("[{\"function\":{\"name\":\"f\",\"arguments\":{}}},{\"name\":\"g\",\"arguments\":{}}]");
    }

    @Test
    void takesDeveloperForSystem() {
        assertThat(normalised("[{\"role\":\"developer\",\"content\":\"x\"}]"))
                .isEqualTo("[{\"role\":\"system\",\"content\":\"x\"}]");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "null | INVALID_REQUEST | messages",
                "[] | INVALID_REQUEST | messages",
                "[1] | INVALID_REQUEST | messages[0]",
                "[{\"content\":\"x\"}] | INVALID_REQUEST | messages[0].role",
                "[{\"role\":\"robot\",\"content\":\"x\"}] | INVALID_REQUEST | messages[0].role",
                "[{\"role\":\"user\",\"content\":5}] | INVALID_REQUEST | messages[0].content",
                "[{\"role\":\"user\",\"content\":{}}] | INVALID_REQUEST | messages[0].content",
                "[{\"role\":\"user\",\"content\":[\"x\"]}] | INVALID_REQUEST | messages[0].content[0]",
                "[{\"role\":\"user\",\"content\":[{\"text\":\"x\"}]}] | INVALID_REQUEST | messages[0].content[0].type",
                "[{\"role\":\"user\",\"content\":[{\"type\":\"text\"}]}] | INVALID_REQUEST | "
                        + "messages[0].content[0].text",
                "[{\"role\":\"user\",\"content\":[{\"type\":\"odd\"}]}] | INVALID_REQUEST | "
                        + "messages[0].content[0].type",
                "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\"},{\"type\":\"image_ur"
                        + "l\"}]}] | UNSUPPORTED_CONTENT | messages[0].content[1]",
                "[{\"role\":\"tool\",\"content\":[{\"type\":\"input_audio\"}]}] | UNSUPPORTED_CONTENT | "
                        + "messages[0].content[0]",
                "[{\"role\":\"user\",\"content\":[{\"type\":\"video_url\"}]}] | UNSUPPORTED_CONTENT | "
                        + "messages[0].content[0]",
                "[{\"role\":\"assistant\",\"reasoning_content\":[1]}] | INVALID_REQUEST | "
                        + "messages[0].reasoning_content",
                "[{\"role\":\"assistant\",\"tool_calls\":{}}] | INVALID_REQUEST | messages[0].tool_calls",
                "[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\"}]}] | INVALID_REQUEST | "
                        + "messages[0].tool_calls[0].function",
                "[{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{}}]}] | INVALID_REQUEST | "
                        + "messages[0].tool_calls[0].function.name",
                "[{\"role\":\"assistant\"},{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\""
                        + "f\"}},{\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}] | "
                        + "INVALID_REQUEST | messages[1].tool_calls[1].function.arguments",
                "[{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\""
                        + "[1]\"}}]}] | INVALID_REQUEST | messages[0].tool_calls[0].function.arguments",
                "[{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\""
                        + "{\\\"a\\\":1e99999999999}\"}}]}] | INVALID_REQUEST |"
                        + " messages[0].tool_calls[0].function.arguments",
                "[{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\""
                        + "{\\\"a\\\":[-1.5e-99999999999]}\"}}]}] | INVALID_REQUEST |"
                        + " messages[0].tool_calls[0].function.arguments",
                "[{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":7}"
                        + "}]}] | INVALID_REQUEST | messages[0].tool_calls[0].function.arguments"
            })
    void namesTheFieldAtFault(String json, ErrorCode code, String param) {
        assertThatThrownBy(() -> ChatMessages.normalise(
                        Json.read(json) instanceof Json.Parsed.Value(Object value) ? value : "unreadable"))
                .isInstanceOfSatisfying(MillraceException.class, e -> {
                    assertThat(e.code()).isEqualTo(code);
                    assertThat(e.param()).contains(param);
                    assertThat(e).hasMessageStartingWith(param + ": ").hasMessageContaining("(expected: ");
                });
    }

    @Test
    void argumentsBeyondALimitAreToldAsThat() {
        refusesArguments("{\"a\":" + "[".repeat(600) + "]".repeat(600) + "}", "nesting deeper than 500 levels");
        refusesArguments("{\"a\":" + "1".repeat(2000) + "}", "a number longer than 1000 characters");
        refusesArguments("{\"a\":1e99999999999}", "a number whose exponent is out of range");
    }

    private static void refusesArguments(String text, String found) {
        Map<String, Object> call = Map.of("function", Map.of("name", "f", "arguments", text));
        assertThatThrownBy(
                        () -> ChatMessages.normalise(List.of(Map.of("role", "assistant", "tool_calls", List.of(call)))))
                .hasMessage("messages[0].tool_calls[0].function.arguments: text beyond a limit: " + found
                        + " (expected: an object, or an object as JSON text)");
    }

    @Test
    void checksTools() {
        assertThat(ChatMessages.normaliseTools(null)).isEmpty();
        assertThat(Json.write(ChatMessages.normaliseTools(
                        List.of(Map.of("type", "function", "function", Map.of("name", "f"))))))
                .contains("\"function\":{\"name\":\"f\"}");
        assertThatThrownBy(() -> ChatMessages.normaliseTools(List.of(Map.of("type", "retrieval"))))
                .hasMessage("tools[0].type: \"retrieval\" (expected: \"function\")");
        assertThatThrownBy(() -> ChatMessages.normaliseTools(List.of(Map.of("function", Map.of()))))
                .hasMessageStartingWith("tools[0].function.name: nothing");
        assertThatThrownBy(() -> ChatMessages.normaliseTools(List.of(Map.of("type", "function"))))
                .hasMessage("tools[0].function: nothing (expected: an object with the function's name)");
        assertThatThrownBy(() -> ChatMessages.normaliseTools(List.of(Map.of("name", 1))))
                .hasMessageStartingWith("tools[0].name: the number 1");
    }
}
