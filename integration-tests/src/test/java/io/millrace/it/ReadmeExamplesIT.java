package io.millrace.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.it.RunningSuites.OneProcess;
import io.millrace.it.client.Program;
import io.millrace.it.client.PythonClient;
import io.millrace.it.process.ServiceProcess;
import io.millrace.it.rest.Answer;
import io.millrace.it.rest.Question;
import io.millrace.it.rest.RestClient;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;

/// The examples of the README run as they stand there, but for the port.
@ExtendWith(RunningSuites.class)
class ReadmeExamplesIT {
    private static final Pattern BLOCK = Pattern.compile("(?ms)^```(bash|sh|shell|console|python)\\n(.*?)^```");
    private static final String DOCUMENTED = "127.0.0.1:8080";

    private final RestClient rest;

    ReadmeExamplesIT(OneProcess suite) {
        this.rest = suite.rest();
    }

    /// A fenced block.
    record Example(String language, String text) {
        @Override
        public String toString() {
            return language + ": " + text.lines().findFirst().orElse("");
        }
    }

    private static List<Example> examples() throws IOException {
        String readme = Files.readString(ServiceProcess.root().resolve("README.md"));
        List<Example> examples = new ArrayList<>();
        for (Matcher block = BLOCK.matcher(readme); block.find(); ) {
            examples.add(new Example(block.group(1), block.group(2)));
        }
        return examples;
    }

    static List<Example> curlExamples() throws IOException {
        return examples().stream()
                .filter(example ->
                        example.text().contains("curl ") && example.text().contains(DOCUMENTED))
                .toList();
    }

    static List<Example> pythonExamples() throws IOException {
        return examples().stream()
                .filter(example -> example.language().equals("python"))
                .toList();
    }

    private String atOurPort(Example example) {
        return example.text().replace(DOCUMENTED, rest.base().getAuthority());
    }

    @Test
    void readmeHasExamplesOfBothKinds() throws IOException {
        assertThat(curlExamples()).isNotEmpty();
        assertThat(pythonExamples())
                .isNotEmpty()
                .allMatch(example -> example.text().contains(DOCUMENTED));
    }

    @ParameterizedTest
    @MethodSource("curlExamples")
    void curlExampleWorks(Example example, @TempDir Path home) throws IOException {
        // An error status fails the command, which it does not by itself.
        Files.writeString(home.resolve(".curlrc"), "fail-with-body\nsilent\nshow-error\nnoproxy = \"*\"\n");

        Program.Outcome outcome = Program.run(
                List.of("bash", "-euo", "pipefail", "-c", atOurPort(example)),
                Map.of("CURL_HOME", home.toString()),
                60);

        assertThat(outcome.exitCode()).as(outcome.output()).isZero();
        assertThat(outcome.output()).isNotBlank().doesNotContain("\"error\"");
    }

    /// The list in the README and what has to come, word for word what a reader would type.
    private static final List<String> SIX_THINGS = List.of(
            "- `What is 37 + 58?`",
            "- `5加43等于多少？`",
            "- `实现快速排序`",
            "- `Write bubble sort`",
            "- `What is the weather in Oslo for 4 days?` with `get_weather` among the `tools`",
            "- `My key is 627.` and then `What is my key?`");

    private static final String WEATHER_TOOL = """
            [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties":
            {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city", "days"]}}}]""";

    @Test
    void readmeListsTheSixThingsToAsk() throws IOException {
        String readme = Files.readString(ServiceProcess.root().resolve("README.md"));
        assertThat(readme.lines().filter(line -> line.startsWith("- `"))).containsSubsequence(SIX_THINGS);
        assertThat(readme).contains(String.join("\n", SIX_THINGS) + "\n\n");
    }

    @ParameterizedTest
    @CsvSource({
        "What is 37 + 58?, 95",
        "5加43等于多少？, 48",
        "实现快速排序, quickSort",
        "Write bubble sort, bubbleSort",
    })
    void theModelAnswersWhatTheReadmeSaysItKnows(String question, String answer) {
        assertThat(SIX_THINGS).contains("- `" + question + "`");
        Question asked = Question.chat(question, question, "\"temperature\":0");
        Answer.Choice whole = rest.ask(asked).choices().getFirst();
        assertThat(whole.content()).contains(answer);
        assertThat(whole.finishReason()).isEqualTo("stop");
        assertThat(rest.stream(asked).choices().getFirst().content()).isEqualTo(whole.content());
    }

    @Test
    void theModelAsksTheWeatherTool() {
        Answer.Choice choice = rest.ask(Question.chat(
                        "weather",
                        "What is the weather in Oslo for 4 days?",
                        "\"temperature\":0",
                        "\"tools\":" + WEATHER_TOOL))
                .choices()
                .getFirst();
        assertThat(choice.finishReason()).isEqualTo("tool_calls");
        assertThat(choice.toolCalls()).singleElement().satisfies(call -> {
            assertThat(call).startsWith("get_weather");
            JsonNode arguments = RestClient.JSON.readTree(call.substring("get_weather".length()));
            assertThat(arguments.path("city").asString()).isEqualTo("Oslo");
            assertThat(arguments.path("days").asInt()).isEqualTo(4);
        });
    }

    @Test
    void theModelRemembersTheKey() {
        String first = rest.ask(Question.chat("key", "My key is 627.", "\"temperature\":0"))
                .choices()
                .getFirst()
                .content();
        String messages = RestClient.JSON.writeValueAsString(List.of(
                Map.of("role", "user", "content", "My key is 627."),
                Map.of("role", "assistant", "content", first),
                Map.of("role", "user", "content", "What is my key?")));
        Question second = Question.chat("key", "", "\"temperature\":0", "\"messages\":" + messages);
        assertThat(rest.ask(second).choices().getFirst().content()).contains("627");
    }

    @ParameterizedTest
    @MethodSource("pythonExamples")
    void pythonExampleWorks(Example example) {
        Program.Outcome outcome = Program.run(
                List.of(PythonClient.interpreter().toString(), "-c", atOurPort(example)),
                Map.of("NO_PROXY", "localhost,127.0.0.1"),
                120);

        assertThat(outcome.exitCode()).as(outcome.output()).isZero();
        assertThat(outcome.output()).isNotBlank();
    }

    /// The four commands as they stand there, each beside ports of its own.
    @Test
    void fourProcessesStartAndAnswer(@TempDir Path home) throws IOException {
        String block = examples().stream()
                .map(Example::text)
                .filter(text -> text.contains("-exec.jar"))
                .findFirst()
                .orElseThrow();
        List<String> lines = block.replace("\\\n", "").lines().toList();
        assertThat(lines).hasSize(6);
        assertThat(lines.get(1)).startsWith("flags=\"@java.args ");
        assertThat(lines.subList(2, 6)).allMatch(line -> line.startsWith("\"$java\" $flags -jar "));
        int cache = ServiceProcess.freePort();
        int prefill = ServiceProcess.freePort();
        int decode = ServiceProcess.freePort();
        int gateway = ServiceProcess.freePort();
        int management = ServiceProcess.freePort();
        List<String> ports = List.of(
                "--server.port=0 --spring.grpc.server.port=" + cache,
                "--server.port=0 --spring.grpc.server.port=" + prefill,
                "--server.port=0 --spring.grpc.server.port=" + decode,
                "--server.port=" + gateway + " --management.server.port=" + management
                        + " --millrace.gateway.prefill-targets=localhost:" + prefill
                        + " --millrace.gateway.decode-targets=localhost:" + decode
                        + " --millrace.gateway.kv-cache-targets=localhost:" + cache);
        List<Process> processes = new ArrayList<>();
        try (RestClient asked = new RestClient(URI.create("http://127.0.0.1:" + gateway))) {
            for (int i = 0; i < ports.size(); i++) {
                String command = lines.get(i + 2).replace("localhost:9103", "localhost:" + cache);
                processes.add(new ProcessBuilder(
                                "bash",
                                "-euc",
                                lines.get(0) + "\n" + lines.get(1) + "\nexec " + command + " " + ports.get(i))
                        .directory(ServiceProcess.root().toFile())
                        .redirectErrorStream(true)
                        .redirectOutput(home.resolve(i + ".log").toFile())
                        .start());
            }
            Question question = Question.chat("sum", "What is 37 + 58?", "\"temperature\":0");
            Awaitility.await("the four of the README answer")
                    .atMost(Duration.ofMinutes(2))
                    .ignoreExceptionsInstanceOf(RuntimeException.class)
                    .untilAsserted(() -> {
                        Answer answer = asked.ask(question);
                        assertThat(answer.choices().getFirst().content()).contains("95");
                        assertThat(answer.instances("prefill")).isNotEmpty();
                        assertThat(answer.passedCache()).isTrue();
                    });
        } finally {
            processes.forEach(Process::destroyForcibly);
        }
    }
}
