package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.gateway.fake.Suite;
import io.millrace.gateway.fake.SuiteExtension;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/// In a stream, a chunk's log-probabilities are those of the tokens its text is made of.
@ExtendWith(SuiteExtension.class)
class StreamedLogprobsTest {
    private final Suite suite;

    StreamedLogprobsTest(Suite suite) {
        this.suite = suite;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5, 64})
    void everyChatChunkHasTheTokensOfItsText(int groupSize) {
        suite.answer("Let me think.</think>实现快速排序: 😀 is 95, that is all.", groupSize);
        List<JsonNode> whole = entries(suite.chatReply("\"logprobs\":true"));

        List<JsonNode> chunks = chatChunks();

        List<JsonNode> streamed = new ArrayList<>();
        int shown = 0;
        for (JsonNode chunk : chunks) {
            JsonNode delta = chunk.get("choices").get(0).get("delta");
            String text = delta.path("reasoning_content").asString("")
                    + delta.path("content").asString("");
            assertThat(text(entries(chunk)).replace("</think>", "")).isEqualTo(text);
            streamed.addAll(entries(chunk));
            shown += text.isEmpty() ? 0 : 1;
        }
        assertThat(streamed).isEqualTo(whole);
        assertThat(shown).isGreaterThan(10);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4, 64})
    void tokensOfAToolCallComeWithThePartTheyComplete(int groupSize) {
        suite.answer(
                "</think><tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>",
                groupSize);
        List<JsonNode> whole = entries(suite.chatReply("\"logprobs\":true"));

        List<JsonNode> chunks = chatChunks();

        List<JsonNode> calls = chunks.stream()
                .filter(chunk -> chunk.get("choices").get(0).get("delta").has("tool_calls"))
                .toList();
        assertThat(calls).hasSize(3);
        assertThat(text(entries(calls.get(0)))).isEqualTo("</think><tool_call>get_weather<arg_key>");
        assertThat(text(entries(calls.get(1)))).isEqualTo("city</arg_key><arg_value>Oslo</arg_value>");
        assertThat(text(entries(calls.get(2)))).isEqualTo("</tool_call>");
        assertThat(chunks.stream().flatMap(chunk -> entries(chunk).stream())).isEqualTo(whole);
    }

    @Test
    void tokensThatNeverShowTextComeBeforeTheEnd() {
        suite.answerCutOff("All of it is thought.</think>");
        List<JsonNode> whole = entries(suite.chatReply("\"logprobs\":true"));

        List<JsonNode> chunks = chatChunks();

        JsonNode beforeEnd = chunks.get(chunks.size() - 2);
        assertThat(beforeEnd.get("choices").get(0).get("delta").isEmpty()).isTrue();
        assertThat(text(entries(beforeEnd))).isEqualTo("</think>");
        assertThat(chunks.stream().flatMap(chunk -> entries(chunk).stream())).isEqualTo(whole);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5})
    void everyCompletionChunkHasTheTokensOfItsText(int groupSize) {
        suite.answer("A 😀 and 实现快速排序 are text.", groupSize);

        List<JsonNode> chunks =
                suite.stream("/v1/completions", "{\"prompt\":\"Hello\",\"stream\":true,\"logprobs\":0}");

        int offset = 0;
        for (JsonNode chunk : chunks.subList(0, chunks.size() - 1)) {
            JsonNode choice = chunk.get("choices").get(0);
            int tokens = choice.get("logprobs").get("tokens").size();
            assertThat(choice.get("text").asString()).isNotEmpty();
            assertThat(tokens).isPositive();
            assertThat(choice.get("logprobs").get("text_offset").get(0).asInt()).isGreaterThanOrEqualTo(offset);
            offset = choice.get("logprobs").get("text_offset").get(0).asInt();
        }
    }

    private List<JsonNode> chatChunks() {
        return suite.stream("/v1/chat/completions", Suite.chat("\"logprobs\":true", "\"stream\":true"));
    }

    private static List<JsonNode> entries(JsonNode body) {
        JsonNode logprobs = body.get("choices").get(0).get("logprobs");
        return logprobs.isNull()
                ? List.of()
                : logprobs.get("content").valueStream().toList();
    }

    private static String text(List<JsonNode> entries) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (JsonNode entry : entries) {
            entry.get("bytes").forEach(value -> bytes.write(value.asInt()));
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
