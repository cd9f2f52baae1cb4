package io.millrace.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

class RenderCommandTest {
    private static final Path ROOT = Path.of(System.getProperty("millrace.root", ".."));
    private static final Path MINI = ROOT.resolve("models/mini");
    private static final JsonMapper JSON = new JsonMapper();

    @TempDir
    Path folder;

    @Test
    void everyRecordedChatRendersToItsPromptAndItsIds() throws IOException {
        JsonNode cases =
                JSON.readTree(Files.readString(ROOT.resolve("engine/src/test/resources/golden/text/chat_cases.json")));
        StringBuilder lines = new StringBuilder();
        cases.forEach(one -> lines.append(one.path("input")).append('\n'));
        List<String> prompts = CommandRun.of(lines.toString(), "render", "--model", MINI.toString())
                .answers();
        List<String> ids = CommandRun.of(lines.toString(), "tokenize", "--model", MINI.toString())
                .answers();
        assertThat(prompts).hasSize(cases.size());
        for (int i = 0; i < cases.size(); i++) {
            assertThat(JSON.readTree(prompts.get(i)).path("text"))
                    .isEqualTo(cases.path(i).path("rendered"));
            if (cases.path(i).has("ids")) {
                assertThat(JSON.readTree(ids.get(i)).path("ids"))
                        .isEqualTo(cases.path(i).path("ids"));
            } else {
                assertThat(CommandRun.of(ids.get(i), "tokenize", "--model", MINI.toString())
                                .answers())
                        .containsExactly(prompts.get(i));
            }
        }
    }

    @Test
    void aFolderWithJustATemplateIsEnough() throws IOException {
        template("{{ messages[0].content }}|{{ flag }}|{{ add_generation_prompt }}|{{ (tools or []) | length }}");
        assertThat(render("""
                {"messages": [{"role": "user", "content": "hi"}], "flag": "on", "add_generation_prompt": false}
                {"messages": [{"role": "user", "content": "hi"}], "tools": [{"function": {"name": "f"}}]}
                """)).containsExactly("{\"text\":\"hi|on|False|0\"}", "{\"text\":\"hi||True|1\"}");
    }

    @Test
    void rawShowsTheTemplateTheMessagesAsTheyAre() throws IOException {
        template("{{ messages[0].content }}");
        String line = "{\"messages\": [{\"role\": \"user\", \"content\": null}]}\n";
        assertThat(render(line)).containsExactly("{\"text\":\"\"}");
        assertThat(render(line, "--raw")).containsExactly("{\"text\":\"None\"}");
    }

    @ParameterizedTest
    @CsvSource({
        "2026-01-02T03:04:05Z, 2026-01-02 03:04:05",
        "2026-01-02T03:04:05+02:00, 2026-01-02 03:04:05",
        "2026-01-02T03:04:05, 2026-01-02 03:04:05",
        "2026-01-02 03:04:05, 2026-01-02 03:04:05",
        "2026-01-02, 2026-01-02 00:00:00",
        "1767323045, 2026-01-02 03:04:05"
    })
    void aVariableFixesTheClockOfTheTemplate(String now, String shown) throws IOException {
        template("{{ strftime_now('%Y-%m-%d %H:%M:%S') }}");
        byte[] line = "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}".getBytes(StandardCharsets.UTF_8);
        CommandRun outcome = CommandRun.of(line, Map.of("MILLRACE_NOW", now), "render", "--model", folder.toString());
        assertThat(outcome.answers()).containsExactly("{\"text\":\"" + shown + "\"}");
    }

    @Test
    void aClockThatCannotBeReadIsOneSentence() throws IOException {
        template("x");
        CommandRun outcome =
                CommandRun.of(new byte[0], Map.of("MILLRACE_NOW", "soon"), "render", "--model", folder.toString());
        assertThat(outcome.exitCode()).isEqualTo(1);
        assertThat(outcome.errors().lines()).hasSize(1);
        assertThat(outcome.errors()).startsWith("millrace: MILLRACE_NOW: \"soon\"");
    }

    @Test
    void badLinesAreAnsweredAndTheNextOneGoesOn() throws IOException {
        template("{% if boom %}{{ raise_exception('no ' + boom) }}{% endif %}ok");
        String good = "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}";
        for (String[] options : new String[][] {{}, {"--raw"}}) {
            for (String bad : List.of(
                    "{}",
                    "{\"messages\": null}",
                    "{\"messages\": 1}",
                    "{\"messages\": [1]}",
                    "{\"messages\": [null]}",
                    "{\"messages\": [{\"role\": \"user\", \"content\": \"\\udc00\"}]}",
                    "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}], \"tools\": 1}",
                    "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}], \"tools\": [null]}",
                    "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}], \"add_generation_prompt\": 1}",
                    "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}], \"boom\": \"way\"}",
                    "[")) {
                List<String> answers = render(bad + "\n" + good + "\n", options);
                assertThat(answers).as("%s %s", bad, options.length).hasSize(2);
                assertThat(answers.get(0))
                        .as("%s %s", bad, options.length)
                        .startsWith("{\"error\":\"")
                        .doesNotContain("internal");
                assertThat(answers.get(1)).isEqualTo("{\"text\":\"ok\"}");
            }
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '\0', textBlock = """
                    {"role":"tool","content":"x"} | messages[0].role: "tool" (expected: only after an assistant\
                     message with tool_calls, or after another answer to them)
                    {"role":"assistant"} | messages[0].content: missing (expected: text or a list of text parts, as\
                     the message has no tool_calls)
                    {"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f"}}]},\
                    {"role":"tool","tool_call_id":"b","content":"x"} | messages[1].tool_call_id: "b" (expected: the\
                     id of one of the tool_calls before it)
                    {"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f"}}]},\
                    {"role":"tool","tool_call_id":5,"content":"x"} | messages[1].tool_call_id: an integer (expected:\
                     a string)
                    {"role":"user","content":"x"}],"reasoning_effort":"much","x":[1 | reasoning_effort: "much"\
                     (expected: one of none, minimal, low, medium, high, xhigh, max)
                    """)
    void whatTheGatewayRefusesHasNoPrompt(String messages, String sentence) throws IOException {
        template("{{ messages | length }}");
        Files.copy(MINI.resolve("tokenizer.json"), folder.resolve("tokenizer.json"));
        String line = "{\"messages\":[" + messages + "]}\n";
        String expected = JSON.writeValueAsString(Map.of("error", sentence));
        assertThat(render(line)).containsExactly(expected);
        assertThat(CommandRun.of(line, "tokenize", "--model", folder.toString()).answers())
                .containsExactly(expected);
        assertThat(render(line, "--raw")).singleElement().asString().startsWith("{\"text\":");
    }

    @Test
    void aTemplateThatCannotBeReadIsOneSentenceWithItsPlace() throws IOException {
        template("{% frobnicate %}");
        CommandRun outcome = CommandRun.of("", "render", "--model", folder.toString());
        assertThat(outcome.exitCode()).isEqualTo(1);
        assertThat(outcome.errors().lines()).hasSize(1);
        assertThat(outcome.errors()).startsWith("millrace: ").contains("frobnicate");
    }

    @Test
    void aFolderWithoutATemplateIsOneSentence() {
        CommandRun outcome = CommandRun.of("{}", "render", "--model", folder.toString());
        assertThat(outcome.exitCode()).isEqualTo(1);
        assertThat(outcome.errors().lines()).hasSize(1);
        assertThat(outcome.errors()).startsWith("millrace: " + folder).contains("no chat template");
    }

    @Test
    void tokenizeAnswersMessagesOnlyWhereThereIsATemplate() throws IOException {
        Files.copy(MINI.resolve("tokenizer.json"), folder.resolve("tokenizer.json"));
        ObjectNode line = JSON.createObjectNode();
        line.putArray("messages").addObject().put("role", "user").put("content", "a");
        CommandRun outcome = CommandRun.of(line + "\n", "tokenize", "--model", folder.toString());
        assertThat(outcome.answers()).singleElement().asString().contains("\"error\"", "no chat template");
    }

    private void template(String source) throws IOException {
        Files.writeString(folder.resolve("chat_template.jinja"), source);
    }

    private List<String> render(String lines, String... options) {
        String[] args = new String[options.length + 3];
        args[0] = "render";
        args[1] = "--model";
        args[2] = folder.toString();
        System.arraycopy(options, 0, args, 3, options.length);
        return CommandRun.of(lines, args).answers();
    }
}
