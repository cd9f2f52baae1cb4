package io.millrace.engine.chat;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.chat.ReplyDelta.ContentDelta;
import io.millrace.engine.chat.ReplyDelta.ReasoningDelta;
import io.millrace.engine.chat.ReplyDelta.ToolCallArguments;
import io.millrace.engine.chat.ReplyDelta.ToolCallEnd;
import io.millrace.engine.chat.ReplyDelta.ToolCallStart;
import io.millrace.engine.chat.ReplyTokens.Thinking;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.json.JsonMapper;

class ReplyParserTest {
    private static final List<String> NAMES = List.of(
            "<think>",
            "</think>",
            "<tool_call>",
            "</tool_call>",
            "<arg_key>",
            "</arg_key>",
            "<arg_value>",
            "</arg_value>",
            "<|assistant|>",
            "<|user|>");
    private static final ReplyTokens TOKENS = ReplyTokens.of(
            name -> NAMES.contains(name) ? OptionalInt.of(100 + NAMES.indexOf(name)) : OptionalInt.empty());
    private static final int TEXT = 1;

    private static List<Map<String, @Nullable Object>> tools(String properties) {
        Object parameters = JsonMapper.shared().readValue("{\"properties\": " + properties + "}", Map.class);
        return ChatMessages.normaliseTools(
                List.of(Map.of("type", "function", "function", Map.of("name", "f", "parameters", parameters))));
    }

    /// Feeds text where control tokens are written out; `‹…›` spells one by ordinary tokens.
    private static List<ReplyDelta> parse(
            String text, Thinking thinking, List<Map<String, @Nullable Object>> tools, Random cuts) {
        ReplyParser parser = new ReplyParser(TOKENS, thinking, tools, "request");
        List<ReplyDelta> deltas = new ArrayList<>();
        int from = 0;
        while (from < text.length()) {
            int start = from;
            String control = NAMES.stream()
                    .filter(name -> text.startsWith(name, start))
                    .findFirst()
                    .orElse("");
            if (!control.isEmpty()) {
                deltas.addAll(parser.accept(100 + NAMES.indexOf(control), cuts.nextBoolean() ? control : ""));
                from += control.length();
                continue;
            }
            int to = from + 1;
            while (to < text.length() && cuts.nextInt(4) > 0 && text.charAt(to) != '<') {
                to++;
            }
            deltas.addAll(parser.accept(
                    TEXT, text.substring(from, to).replace('‹', '<').replace('›', '>')));
            from = to;
        }
        deltas.addAll(parser.finish());
        return deltas;
    }

    private static ChatReply reply(String text, Thinking thinking, String properties) {
        return new ChatReply.Fold()
                .add(parse(text, thinking, tools(properties), new Random(1)))
                .reply();
    }

    private static ChatReply reply(String text) {
        return reply(text, Thinking.OPEN, "{}");
    }

    @Test
    void splitsReasoningAndContentAndKeepsTheirTextExactly() {
        ChatReply reply = reply("\n I think. </think>\n\nIt is 5.\n");

        assertThat(reply).isEqualTo(new ChatReply("\n I think. ", "\n\nIt is 5.\n", List.of()));
    }

    @Test
    void decidesByThePromptWhereTheReplyStarts() {
        assertThat(TOKENS.thinking(new int[] {5, 108, 100})).isEqualTo(Thinking.OPEN);
        assertThat(TOKENS.thinking(new int[] {5, 108, 100, 7})).isEqualTo(Thinking.OPEN);
        assertThat(TOKENS.thinking(new int[] {108, 100, 101})).isEqualTo(Thinking.CLOSED);
        assertThat(TOKENS.thinking(new int[] {100, 4, 109, 4})).isEqualTo(Thinking.UNDECIDED);
        assertThat(TOKENS.thinking(new int[] {})).isEqualTo(Thinking.UNDECIDED);

        assertThat(reply("5", Thinking.OPEN, "{}")).isEqualTo(new ChatReply("5", "", List.of()));
        assertThat(reply("5</think>6", Thinking.CLOSED, "{}")).isEqualTo(new ChatReply("", "56", List.of()));
        assertThat(reply("<think>5</think>6", Thinking.CLOSED, "{}")).isEqualTo(new ChatReply("", "56", List.of()));
        assertThat(reply("\n<think>5</think>6<think>7", Thinking.UNDECIDED, "{}"))
                .isEqualTo(new ChatReply("5", "67", List.of()));
    }

    @Test
    void doesNotTakeSpelledControlTokensForOnes() {
        ChatReply reply = reply("say ‹/think› and ‹tool_call›f‹/tool_call›</think>‹think›");

        assertThat(reply).isEqualTo(new ChatReply("say </think> and <tool_call>f</tool_call>", "<think>", List.of()));
    }

    @Test
    void readsToolCallsOfBothSpellings() {
        String properties = "{\"city\": {\"type\": \"string\"}, \"days\": {\"type\": \"integer\"}}";
        ChatReply compact = reply(
                "r</think>ok<tool_call>f<arg_key>city</arg_key><arg_value> "
                        + "7</arg_value><arg_key>days</arg_key><arg_value>2</arg_value></tool_call>",
                Thinking.OPEN,
                properties);
        ChatReply spaced = reply(
                "r</think>ok<tool_call>f\n<arg_key>city</arg_key>\n<arg_value> "
                        + "7</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2\n</arg_value>\n</tool_call>\n",
                Thinking.OPEN,
                properties);

        assertThat(compact.reasoning()).isEqualTo("r");
        assertThat(compact.content()).isEqualTo("ok");
        assertThat(compact.toolCalls()).singleElement().satisfies(call -> {
            assertThat(call.name()).isEqualTo("f");
            assertThat(call.arguments()).isEqualTo("{\"city\": \" 7\", \"days\": 2}");
            assertThat(call.complete()).isTrue();
        });
        assertThat(spaced).isEqualTo(compact);
        assertThat(compact.callsTools()).isTrue();
    }

    @Test
    void givesCallsWithoutArgumentsAnEmptyObject() {
        List<ReplyDelta> deltas = parse(
                "</think>\n<tool_call>f</tool_call>\n<tool_call>g\n</tool_call>\n",
                Thinking.OPEN,
                List.of(),
                new Random(3));

        assertThat(deltas)
                .containsExactly(
                        new ToolCallStart(0, idOf(deltas, 0), "f"),
                        new ToolCallArguments(0, "{}"),
                        new ToolCallEnd(0),
                        new ToolCallStart(1, idOf(deltas, 1), "g"),
                        new ToolCallArguments(1, "{}"),
                        new ToolCallEnd(1));
        assertThat(idOf(deltas, 0)).startsWith("call_").isNotEqualTo(idOf(deltas, 1));
    }

    private static String idOf(List<ReplyDelta> deltas, int index) {
        return deltas.stream()
                .filter(delta -> delta instanceof ToolCallStart start && start.index() == index)
                .map(delta -> ((ToolCallStart) delta).id())
                .findFirst()
                .orElseThrow();
    }

    @Test
    void endsReasoningAtAToolCall() {
        ChatReply reply = reply("let me call<tool_call>f</tool_call>done");

        assertThat(reply.reasoning()).isEqualTo("let me call");
        assertThat(reply.content()).isEqualTo("done");
        assertThat(reply.toolCalls()).hasSize(1);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            nullValues = "-",
            value = {
                "{\"type\": \"string\"} | 7 | \"7\"",
                "{\"type\": \"string\"} | null | \"null\"",
                "{\"type\": \"integer\"} | 7 | 7",
                "{\"type\": \"integer\"} | 123456789012345678901234567890 | 123456789012345678901234567890",
                "{\"type\": \"integer\"} | 7.0 | 7",
                "{\"type\": \"integer\"} | seven | \"seven\"",
                "{\"type\": \"number\"} | 0.1 | 0.1",
                "{\"type\": \"number\"} | 3 | 3",
                "{\"type\": \"number\"} | 1e99999999999 | \"1e99999999999\"",
                "{\"type\": \"integer\"} | 1e-99999999999 | \"1e-99999999999\"",
                "{\"type\": \"integer\"} | 1e2147483647 | 1E+2147483647",
                "{\"type\": \"integer\"} | 0.0e-2147483647 | \"0.0e-2147483647\"",
                "{} | [1e99999999999] | \"[1e99999999999]\"",
                "{\"type\": \"boolean\"} | true | true",
                "{\"type\": \"boolean\"} | False | false",
                "{\"type\": \"object\"} | {\"a\": [1, null]} | {\"a\":[1,null]}",
                "{\"type\": \"array\"} | [\"x\"] | [\"x\"]",
                "{\"type\": \"null\"} | None | null",
                "{\"type\": [\"string\", \"null\"]} | null | null",
                "{\"type\": [\"string\", \"null\"]} | 7 | \"7\"",
                "{\"type\": \"string\", \"nullable\": true} | null | null",
                "{\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"integer\"}]} | 7 | 7",
                "{\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"integer\"}]} | 7.5 | \"7.5\"",
                "{\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"null\"}]} | \"q\" | \"\\\"q\\\"\"",
                "{\"enum\": [\"1\", \"2\"]} | 1 | \"1\"",
                "{\"enum\": [1, 2]} | 1 | 1",
                "{\"const\": \"1\"} | 1 | \"1\"",
                "{\"type\": \"date\"} | 2026 | 2026",
                "{} | {\"a\": 1} | {\"a\":1}",
                "{} | plain text | \"plain text\"",
                "{} | 1 2 | \"1 2\""
            })
    void typesArgumentsBySchema(String schema, String raw, String json) {
        ChatReply reply = reply(
                "</think><tool_call>f<arg_key>k</arg_key><arg_value>" + raw + "</arg_value></tool_call>",
                Thinking.OPEN,
                "{\"k\": " + schema + "}");

        assertThat(reply.toolCalls().getFirst().arguments()).isEqualTo("{\"k\": " + json + "}");
    }

    @Test
    void reportsOnlyWhatIsCompleteOfACallThatIsCutOff() {
        String whole = "</think><tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value><arg_key>b</arg_key><ar"
                + "g_value>2</arg_value>";

        assertThat(reply("</think>x<tool_call>f").toolCalls()).isEmpty();
        ChatReply cut = reply(whole.substring(0, whole.length() - "</arg_value>".length()));
        assertThat(cut.toolCalls()).singleElement().satisfies(call -> {
            assertThat(call.name()).isEqualTo("f");
            assertThat(call.arguments()).isEqualTo("{\"a\": 1");
            assertThat(call.complete()).isFalse();
        });
        assertThat(cut.callsTools()).isFalse();
        assertThat(reply(whole).toolCalls().getFirst().complete()).isFalse();
    }

    @Test
    void copesWithBrokenCalls() {
        assertThat(reply("</think><tool_call>f<arg_key>a<arg_value>1<arg_key>b</arg_key></tool_call>")
                        .toolCalls())
                .singleElement()
                .satisfies(call -> assertThat(call.arguments()).isEqualTo("{\"a\": 1}"));
        assertThat(reply("</think><tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value><arg_ke"
                                + "y>a</arg_key><arg_value>2</arg_value></tool_call>")
                        .toolCalls())
                .singleElement()
                .satisfies(call -> assertThat(call.arguments()).isEqualTo("{\"a\": 1}"));
        assertThat(reply("</think></tool_call></arg_value>x").content()).isEqualTo("x");
    }

    @Test
    void givesTextHeldByTheDetokenizerToWhatCameBefore() {
        ReplyParser parser = new ReplyParser(TOKENS, Thinking.OPEN, List.of(), "r");

        assertThat(parser.accept(101, "\ufffd</think>")).containsExactly(new ReasoningDelta("\ufffd"));
        assertThat(parser.acceptText("end")).containsExactly(new ContentDelta("end"));
        assertThat(parser.finish()).isEmpty();
    }

    @Test
    void streamsTheSameReplyHoweverTheTextIsCut() {
        Random random = new Random(11);
        String[] pieces = {
            "<think>",
            "</think>",
            "<tool_call>",
            "</tool_call>",
            "<arg_key>",
            "</arg_key>",
            "<arg_value>",
            "</arg_value>",
            "f",
            "k",
            " ",
            "\n",
            "text 文",
            "7",
            "‹think›",
            "{\"a\":1}",
            "<tool_call>f<arg_key>k</arg_key><arg_value>9</arg_value></tool_call>"
        };
        for (int round = 0; round < 2000; round++) {
            StringBuilder text = new StringBuilder();
            for (int i = random.nextInt(14); i >= 0; i--) {
                text.append(pieces[random.nextInt(pieces.length)]);
            }
            Thinking thinking =
                    List.of(Thinking.OPEN, Thinking.CLOSED, Thinking.UNDECIDED).get(random.nextInt(3));
            List<ReplyDelta> one = parse(text.toString(), thinking, tools("{}"), new Random(round));
            List<ReplyDelta> other = parse(text.toString(), thinking, tools("{}"), new Random(-round));
            ChatReply reply = new ChatReply.Fold().add(one).reply();

            assertThat(new ChatReply.Fold().add(other).reply())
                    .as("round %s: %s", round, text)
                    .isEqualTo(reply);
            for (ChatReply.ToolCall call : reply.toolCalls()) {
                String arguments = call.complete() ? call.arguments() : call.arguments() + "}";
                if (!arguments.equals("}")) {
                    assertThat(Json.read(arguments)).isInstanceOf(Json.Parsed.Value.class);
                }
            }
        }
    }
}
