package io.millrace.gateway.route;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.gateway.fake.FakeDecode;
import io.millrace.gateway.fake.FakeDecode.Script;
import io.millrace.gateway.fake.Suite;
import io.millrace.gateway.fake.SuiteExtension;
import io.millrace.proto.v1.Finish;
import io.millrace.proto.v1.FinishReason;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import tools.jackson.databind.JsonNode;

/// Random replies, cut into events at random: what a stream adds up to is what a whole answer says.
@ExtendWith(SuiteExtension.class)
class StreamEqualsWholeTest {
    private static final int CASES = Integer.getInteger("millrace.test.cases", 60);
    private static final List<String> PIECES = List.of(
            "Let me think. ",
            "</think>",
            "The answer is 95.",
            " ",
            "\n\n",
            "实现快速排序",
            "😀 emoji",
            "<think>",
            "<tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value></tool_call>",
            "<tool_call>now</tool_call>",
            "<tool_call>broken<arg_key>a</arg_key><arg_value>1",
            "{\"a\": 1}");
    private final Suite suite;

    StreamEqualsWholeTest(Suite suite) {
        this.suite = suite;
    }

    @Test
    void theStreamAddsUpToTheWholeAnswer() {
        long seed = Long.getLong("millrace.test.seed", System.nanoTime());
        for (int i = 0; i < CASES; i++) {
            Random random = new Random(seed + i);
            suite.script(script(random));
            String logprobs = random.nextBoolean() ? "\"logprobs\":true,\"top_logprobs\":1" : "\"logprobs\":false";
            String usage = "\"stream_options\":{\"include_usage\":true}";

            JsonNode whole = suite.chatReply(logprobs);
            List<JsonNode> chunks =
                    suite.stream("/v1/chat/completions", Suite.chat(logprobs, "\"stream\":true", usage));

            assertThat(fold(chunks)).as("seed " + (seed + i)).isEqualTo(normal(whole));
        }
    }

    private Script script(Random random) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(6); i >= 0; i--) {
            text.append(PIECES.get(random.nextInt(PIECES.size())));
        }
        List<Integer> ids = new ArrayList<>(suite.ids(text.toString()));
        boolean stopped = random.nextBoolean();
        int end = suite.model.endIds().getFirst();
        if (stopped) {
            ids.add(end);
        } else {
            ids = ids.subList(0, random.nextInt(ids.size()) + 1);
        }
        Finish finish = stopped
                ? FakeDecode.stop(end, 0)
                : Finish.newBuilder()
                        .setReason(FinishReason.FINISH_REASON_LENGTH)
                        .build();
        return new Script(ids, 1 + random.nextInt(5), finish);
    }

    private static Map<String, Object> normal(JsonNode whole) {
        JsonNode choice = whole.get("choices").get(0);
        JsonNode message = choice.get("message");
        Map<String, Object> normal = new TreeMap<>();
        normal.put("content", message.get("content").asString(""));
        normal.put("reasoning", message.path("reasoning_content").asString(""));
        List<String> calls = new ArrayList<>();
        for (JsonNode call : message.path("tool_calls")) {
            calls.add(call.get("function").get("name").asString() + "("
                    + call.get("function").get("arguments").asString() + ")");
        }
        normal.put("calls", calls);
        normal.put("finish", choice.get("finish_reason").asString());
        normal.put(
                "logprobs", choice.get("logprobs").path("content").valueStream().toList());
        normal.put("usage", whole.get("usage"));
        return normal;
    }

    private static Map<String, Object> fold(List<JsonNode> chunks) {
        StringBuilder content = new StringBuilder();
        StringBuilder reasoning = new StringBuilder();
        List<String> names = new ArrayList<>();
        List<StringBuilder> arguments = new ArrayList<>();
        List<String> reasons = new ArrayList<>();
        List<JsonNode> logprobs = new ArrayList<>();
        for (JsonNode chunk : chunks.subList(0, chunks.size() - 1)) {
            JsonNode choice = chunk.get("choices").get(0);
            JsonNode delta = choice.get("delta");
            content.append(delta.path("content").asString(""));
            reasoning.append(delta.path("reasoning_content").asString(""));
            for (JsonNode call : delta.path("tool_calls")) {
                int index = call.get("index").asInt();
                if (index == names.size()) {
                    names.add(call.get("function").get("name").asString());
                    arguments.add(new StringBuilder());
                }
                arguments
                        .get(index)
                        .append(call.get("function").get("arguments").asString());
            }
            if (!choice.get("finish_reason").isNull()) {
                reasons.add(choice.get("finish_reason").asString());
            }
            choice.get("logprobs").path("content").forEach(logprobs::add);
        }
        List<String> calls = new ArrayList<>();
        for (int i = 0; i < names.size(); i++) {
            calls.add(names.get(i) + "(" + arguments.get(i) + ")");
        }
        assertThat(reasons).hasSize(1);
        Map<String, Object> folded = new TreeMap<>();
        folded.put("content", content.toString());
        folded.put("reasoning", reasoning.toString());
        folded.put("calls", calls);
        folded.put("finish", reasons.getFirst());
        folded.put("logprobs", logprobs);
        folded.put("usage", chunks.getLast().get("usage"));
        return folded;
    }
}
