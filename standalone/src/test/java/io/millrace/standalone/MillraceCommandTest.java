package io.millrace.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.millrace.standalone.command.Console;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.Model.UsageMessageSpec;

class MillraceCommandTest {
    private static final Path MINI = Path.of(System.getProperty("millrace.root", ".."), "models", "mini");

    @TempDir
    Path folder;

    @Test
    void helpListsTheCommandsAndTheExitCodes() {
        CommandRun outcome = CommandRun.of("", "--help");
        assertThat(outcome.exitCode()).isZero();
        assertThat(String.join("\n", outcome.answers()))
                .contains("render", "tokenize", "doctor", "Exit codes", "the command line cannot be understood");
    }

    @ParameterizedTest
    @ValueSource(strings = {"render", "tokenize", "doctor"})
    void everyCommandExplainsItself(String command) {
        CommandRun outcome = CommandRun.of("", command, "--help");
        assertThat(outcome.exitCode()).isZero();
        assertThat(String.join("\n", outcome.answers())).contains("millrace " + command, "--model", "Exit codes");
    }

    @Test
    void aCommandLineNobodyUnderstandsIsOneSentenceAndExitCodeTwo() {
        for (String[] bad : new String[][] {{}, {"fly"}, {"tokenize", "--modell", "x"}, {"doctor", "--port", "x"}}) {
            CommandRun outcome = CommandRun.of("", bad);
            assertThat(outcome.exitCode()).isEqualTo(2);
            assertThat(outcome.answers()).isEmpty();
            assertThat(outcome.errors().lines()).hasSize(1);
            assertThat(outcome.errors()).startsWith("millrace: ").contains("--help");
        }
    }

    @Test
    void aValueNobodyCanWorkWithIsOneSentenceAndExitCodeTwo() {
        assertRefused(
                "millrace: --port: 99999 (expected: 0..65535); see 'millrace up --help'", "up", "--port", "99999");
        assertRefused("millrace: --port: -1 (expected: 0..65535); see 'millrace up --help'", "up", "--port", "-1");
        assertRefused(
                "millrace: --shutdown-grace: 0 (expected: 1..3600); see 'millrace up --help'",
                "up",
                "--shutdown-grace",
                "0");
        for (String command : List.of("up", "demo", "chat", "generate", "doctor", "verify", "render", "tokenize")) {
            CommandRun outcome = CommandRun.of("Hi", command, "--model=");
            assertThat(outcome.errors().lines())
                    .as(command)
                    .containsExactly("millrace: --model: \"\" (expected: a model folder; without it, it is the"
                            + " embedded one)");
            assertThat(outcome.exitCode()).as(command).isEqualTo(2);
            assertThat(outcome.answers()).isEmpty();
        }
        for (String[] asked : new String[][] {{"generate", "Hi"}, {"chat"}, {"demo"}}) {
            List<String> args = new ArrayList<>(List.of(asked));
            args.addAll(List.of("--url", "foo"));
            assertRefused(
                    "millrace: --url: \"foo\" (expected: one like http://127.0.0.1:8080); see 'millrace " + asked[0]
                            + " --help'",
                    args.toArray(String[]::new));
        }
    }

    /// 203.0.113.0/24 is for documentation: no machine has such an address.
    @ParameterizedTest
    @ValueSource(strings = {"999.1.1.1", "203.0.113.7", "not a host", ""})
    void aHostThatIsNotThisMachineIsOneSentenceWithAnyPort(String host) {
        for (String port : List.of("0", "28471")) {
            CommandRun outcome = CommandRun.of("", "up", "--host", host, "--port", port);
            assertThat(outcome.errors().lines())
                    .containsExactly(
                            "millrace: starting the suite: gateway, prefill, decode, kv-cache",
                            "millrace: --host: " + (host.isEmpty() ? "\"\"" : host)
                                    + " (expected: an address of this machine, 127.0.0.1, or 0.0.0.0 for all)");
            assertThat(outcome.exitCode()).isEqualTo(2);
            assertThat(outcome.answers()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"up", "generate", "chat", "demo"})
    void aModelThatCannotBeServedIsOneSentenceAndExitCodeOne(String command) throws IOException {
        assertFails(folder + " has no config.json, no tokenizer.json, no *.safetensors", command);
        for (String name : List.of("tokenizer.json", "model.safetensors", "generation_config.json")) {
            Files.copy(MINI.resolve(name), folder.resolve(name));
        }
        Files.writeString(folder.resolve("config.json"), "{\"model_type\": ");
        assertFails("config.json: invalid JSON", command);
        Files.copy(MINI.resolve("config.json"), folder.resolve("config.json"), StandardCopyOption.REPLACE_EXISTING);
        Files.writeString(folder.resolve("generation_config.json"), "[]");
        assertFails("generation_config.json", command);
        Files.delete(folder.resolve("generation_config.json"));
        Files.writeString(folder.resolve("model.safetensors"), "cut");
        assertFails("model.safetensors", command);
        Files.move(folder.resolve("model.safetensors"), folder.resolve("other.safetensors"));
        Files.writeString(
                folder.resolve("model.safetensors.index.json"), "{\"weight_map\": {\"a\": \"gone.safetensors\"}}");
        assertFails("gone.safetensors: no such file", command);
        for (String name : List.of("config.json", "tokenizer.json")) {
            Files.delete(folder.resolve(name));
            Files.createDirectory(folder.resolve(name));
            assertFails("not a regular file", command);
            Files.delete(folder.resolve(name));
            Files.copy(MINI.resolve(name), folder.resolve(name));
        }
    }

    private void assertFails(String said, String command) {
        List<String> args = new ArrayList<>(List.of(command, "--model", folder.toString()));
        if (command.equals("up")) {
            args.addAll(List.of("--port", "0"));
        }
        CommandRun outcome = CommandRun.of("Hi", args.toArray(String[]::new));
        assertThat(outcome.exitCode()).as(outcome.errors()).isEqualTo(1);
        assertThat(outcome.answers()).isEmpty();
        assertThat(outcome.errors().lines().filter(line -> !line.contains("starting the suite")))
                .singleElement()
                .asString()
                .startsWith("millrace: ")
                .contains(said);
    }

    @ParameterizedTest
    @ValueSource(strings = {"generate", "chat", "demo"})
    void aRunningSuiteHasItsModel(String command) {
        CommandRun outcome = CommandRun.of("Hi", command, "--url", "http://127.0.0.1:1", "--model", folder.toString());
        assertThat(outcome.exitCode()).isEqualTo(2);
        assertThat(outcome.errors())
                .contains("--url and --model exclude each other")
                .hasLineCount(1);
    }

    private static void assertRefused(String sentence, String... args) {
        CommandRun outcome = CommandRun.of("", args);
        assertThat(outcome.errors().lines()).containsExactly(sentence);
        assertThat(outcome.exitCode()).isEqualTo(2);
        assertThat(outcome.answers()).isEmpty();
    }

    @Test
    void everyCommandTellsItsOwnExitCodes() {
        assertThat(exitCodesOf("render")).contains("a line of input");
        assertThat(exitCodesOf("tokenize")).contains("a line of input");
        for (String command : List.of("up", "demo", "chat", "generate", "doctor", "verify")) {
            assertThat(exitCodesOf(command)).as(command).doesNotContain("a line of input");
        }
        assertThat(helpOf("chat")).containsPattern("comes\\s+in\\s+brackets");
        assertThat(helpOf("demo")).containsPattern("comes\\s+in\\s+brackets");
        assertThat(exitCodesOf("up")).contains("130", "143");
        assertThat(exitCodesOf("doctor")).contains("a line says FAIL");
        assertThat(exitCodesOf("verify")).contains("beyond tolerance", "golden file cannot be used");
    }

    @Test
    void helpIsACommandToo() {
        assertThat(CommandRun.of("", "help")).isEqualTo(CommandRun.of("", "--help"));
        assertThat(CommandRun.of("", "help", "quantize")).isEqualTo(CommandRun.of("", "quantize", "--help"));
        assertThat(CommandRun.of("", "--help").answers()).anyMatch(line -> line.startsWith("  help "));
        CommandRun unknown = CommandRun.of("", "help", "quantise");
        assertThat(unknown.exitCode()).isEqualTo(2);
        assertThat(unknown.errors().lines())
                .containsExactly("millrace: quantise: unknown (expected: a command; nearest is quantize); see"
                        + " 'millrace --help'");
        assertThat(CommandRun.of(new byte[0], Map.of("MILLRACE_KV_FORMAT", "int8"), "help", "up")
                        .errors())
                .isEmpty();
    }

    /// Keys, paths and values are copied from a help: a line of it ends between words.
    @Test
    void noWordOfAHelpIsBroken() {
        for (CommandLine command : MillraceCommand.commandLine(Console.ofProcess(), "--help")
                .getSubcommands()
                .values()) {
            String help = helpOf(command.getCommandName());
            List<String> words = new ArrayList<>(List.of(help.split("\\s+", -1)));
            UsageMessageSpec said = command.getCommandSpec().usageMessage();
            Stream.of(said.description(), said.footer())
                    .flatMap(Stream::of)
                    .flatMap(text -> Stream.of(text.strip().split("\\s+", -1)))
                    .forEach(word -> assertThat(words)
                            .as(command.getCommandName())
                            .contains(word.replace("%n", "").replace("%%", "%")));
            assertThat(help.lines()).as(command.getCommandName()).allMatch(line -> line.length() <= 80);
        }
    }

    private static String exitCodesOf(String command) {
        String help = helpOf(command);
        return help.substring(help.indexOf("Exit codes:"));
    }

    private static String helpOf(String command) {
        return String.join("\n", CommandRun.of("", command, "--help").answers());
    }

    @Test
    void chatNamesTheModelAndTheCommandsItKnows() throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/v1/models", exchange -> {
            byte[] models = "{\"data\": [{\"id\": \"small\"}]}".getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, models.length);
            exchange.getResponseBody().write(models);
            exchange.close();
        });
        server.start();
        try {
            String url = "http://127.0.0.1:" + server.getAddress().getPort();
            CommandRun outcome = CommandRun.of("/foo\n/new\n/exit\n", "chat", "--url", url);
            assertThat(outcome.exitCode()).isZero();
            assertThat(outcome.errors().lines())
                    .containsExactly(
                            "millrace: model small; /exit ends", "millrace: unknown command /foo (known: /new, /exit)");
        } finally {
            server.stop(0);
        }
    }

    @Test
    void anAnswerWithoutTextIsExplained() throws IOException {
        String events = """
                data: {"choices": [{"delta": {"reasoning_content": "Hm"}}]}

                data: {"choices": [{"delta": {}, "finish_reason": "length"}]}

                data: {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 3}, "timings": {}}

                data: [DONE]

                """;
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/v1/chat/completions", exchange -> {
            byte[] answer = events.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.start();
        try {
            String url = "http://127.0.0.1:" + server.getAddress().getPort();
            CommandRun outcome = CommandRun.of("", "generate", "--url", url, "--max-tokens", "3", "Hi");
            assertThat(outcome.exitCode()).isZero();
            assertThat(outcome.answers()).containsExactly("");
            assertThat(outcome.errors().lines())
                    .containsExactly(
                            "millrace: the answer has no text: it was cut off after 3 tokens, all of them of its"
                                    + " reasoning (expected: a larger --max-tokens, or a shorter prompt)");
        } finally {
            server.stop(0);
        }
    }

    /// As in REST, so that a line for one is one for the other.
    @Test
    void tokenizesUnderTheNamesOfTheEndpointsToo() {
        String lines = "{\"prompt\": \"<|user|>Hi\"}\n{\"tokens\": [4067, 2321]}\n{\"prompt\": \"a\", \"ids\": [1]}\n";
        CommandRun outcome = CommandRun.of(lines, "tokenize", "--model", MINI.toString());
        assertThat(outcome.answers().subList(0, 2))
                .containsExactly("{\"tokens\":[4067,2321]}", "{\"prompt\":\"<|user|>Hi\"}");
        assertThat(outcome.answers().get(2)).contains("ids: unknown field (expected: prompt alone)");
    }

    @Test
    void tokenizesTextAndIds() {
        CommandRun outcome = CommandRun.of("""
                {"text": "<|user|>Hi<|assistant|><think>"}
                {"ids": [4067, 2321, 4068, 4081]}
                {"text": ""}
                {"ids": []}
                {"text": "🙂", "ids": null}
                """, "tokenize", "--model", MINI.toString());
        assertThat(outcome.exitCode()).isZero();
        assertThat(outcome.answers())
                .containsExactly(
                        "{\"ids\":[4067,2321,4068,4081]}",
                        "{\"text\":\"<|user|>Hi<|assistant|><think>\"}",
                        "{\"ids\":[]}",
                        "{\"text\":\"\"}",
                        "{\"ids\":[172,253,247,224]}");
    }

    @Test
    void optionsOfTokenizeTreatTextAsACallersAndLeaveSpecialTokensOut() {
        String lines = "{\"text\": \"<sop>\"}\n{\"ids\": [4067, 64]}\n";
        CommandRun outcome =
                CommandRun.of(lines, "tokenize", "--model", MINI.toString(), "--caller-text", "--skip-special");
        assertThat(outcome.answers().get(0)).startsWith("{\"ids\":[").doesNotContain("4064");
        assertThat(outcome.answers().get(1)).isEqualTo("{\"text\":\"a\"}");
    }

    @Test
    void aBadLineIsAnsweredWithItsErrorAndTheNextOneGoesOn() {
        List<String> bad = List.of(
                "{\"text\": \"a\"",
                "nonsense",
                "[1]",
                "{}",
                "{\"text\": 1}",
                "{\"text\": \"a\", \"ids\": [1]}",
                "{\"text\": \"a\", \"text\": \"b\"}",
                "{\"text\": \"a\"} {}",
                "{\"text\": \"a\", \"other\": 1}",
                "{\"text\": \"\\ud83d\"}",
                "{\"ids\": [4096]}",
                "{\"ids\": [-1]}",
                "{\"ids\": [1.5]}",
                "{\"ids\": [\"1\"]}",
                "{\"ids\": [99999999999999999999]}",
                "{\"ids\": [null]}",
                "{\"ids\": 1}",
                "null");
        StringBuilder lines = new StringBuilder();
        bad.forEach(line -> lines.append(line).append("\n{\"text\": \"a\"}\r\n\n"));
        CommandRun outcome = CommandRun.of(lines.toString(), "tokenize", "--model", MINI.toString());
        assertThat(outcome.exitCode()).isZero();
        assertThat(outcome.answers()).hasSize(2 * bad.size());
        for (int i = 0; i < bad.size(); i++) {
            assertThat(outcome.answers().get(2 * i)).as(bad.get(i)).startsWith("{\"error\":\"");
            assertThat(outcome.answers().get(2 * i + 1))
                    .as("after %s", bad.get(i))
                    .isEqualTo("{\"ids\":[64]}");
        }
        assertThat(outcome.answers().get(20)).contains("token id: 4096 (expected: 0..4095)");
    }

    @Test
    void aLineThatIsNotJsonIsToldWithItsPlaceInOurWords() {
        String lines = """
                {"text": "a"}

                {"text": hi}
                {"text": "a"
                {"text": "a", "text": "b"}
                {"text": "a"} {}
                [1]
                {"text": 1%s}
                """.formatted("0".repeat(2000));
        for (String command : List.of("render", "tokenize")) {
            CommandRun outcome = CommandRun.of(lines, command, "--model", MINI.toString());
            assertThat(outcome.exitCode()).isZero();
            assertThat(outcome.answers().subList(1, 7))
                    .containsExactly(
                            "{\"error\":\"line 3: not JSON: a character or word is out of place at column 10\"}",
                            "{\"error\":\"line 4: not JSON: it ends too early at column 13\"}",
                            "{\"error\":\"line 5: not JSON: a key appears twice in one object at column 21\"}",
                            "{\"error\":\"line 6: not JSON: something follows the object at column 15\"}",
                            "{\"error\":\"line 7: not a JSON object\"}",
                            "{\"error\":\"line 8: a number longer than 1000 characters at column 2011\"}");
        }
    }

    @Test
    void bytesThatAreNotUtf8AreAnError() {
        byte[] line = "{\"text\": \"?\"}".getBytes(StandardCharsets.UTF_8);
        line[10] = (byte) 0xFF;
        CommandRun outcome = CommandRun.of(line, Map.of(), "tokenize", "--model", MINI.toString());
        assertThat(outcome.answers()).containsExactly("{\"error\":\"line 1: not UTF-8\"}");
    }

    @Test
    void settingsOfServicesThatACommandDoesNotReadAreNamed() {
        Map<String, String> environment = Map.of(
                "MILLRACE_KV_FORMAT", "int8", "MILLRACE_AOT", "off", "MILLRACE_PORT_80_TCP", "tcp://a", "HOME", "/");
        Map<String, String> properties = Map.of("millrace.kernels.threads", "2", "millrace.home", "/", "user.dir", "/");
        byte[] line = "{\"text\": \"a\"}".getBytes(StandardCharsets.UTF_8);
        CommandRun outcome = CommandRun.of(line, environment, properties, "tokenize", "--model", MINI.toString());
        assertThat(outcome.answers()).containsExactly("{\"ids\":[64]}");
        String why = ": no effect on 'millrace tokenize', which reads its options alone";
        assertThat(outcome.errors().lines())
                .containsExactly("millrace: -Dmillrace.kernels.threads" + why, "millrace: MILLRACE_KV_FORMAT" + why);
        CommandRun help = CommandRun.of(line, environment, properties, "tokenize", "--help");
        assertThat(help.errors()).isEmpty();
    }

    @Test
    void aFolderWithoutWhatTokenizeNeedsIsOneSentenceAndExitCodeOne() {
        CommandRun outcome = CommandRun.of("{}", "tokenize", "--model", folder.toString());
        assertThat(outcome.exitCode()).isEqualTo(1);
        assertThat(outcome.answers()).isEmpty();
        assertThat(outcome.errors().lines()).hasSize(1);
        assertThat(outcome.errors()).startsWith("millrace: ").contains(folder.toString());
    }

    @Test
    void aFolderWithJustATokenizerIsEnoughForTokenize() throws IOException {
        Files.copy(MINI.resolve("tokenizer.json"), folder.resolve("tokenizer.json"));
        CommandRun outcome = CommandRun.of("{\"text\": \"a\"}\n", "tokenize", "--model", folder.toString());
        assertThat(outcome.answers()).containsExactly("{\"ids\":[64]}");
    }

    @Test
    void doctorExitsWithOneIfALineFails() throws IOException {
        try (ServerSocket taken = new ServerSocket(0)) {
            CommandRun outcome = CommandRun.of(
                    "", "doctor", "--model", MINI.toString(), "--port", Integer.toString(taken.getLocalPort()));
            assertThat(outcome.exitCode()).isEqualTo(1);
            assertThat(outcome.answers()).hasSize(7);
            assertThat(outcome.answers().getLast()).startsWith("FAIL  port");
        }
        CommandRun sound = CommandRun.of("", "doctor", "--model", MINI.toString(), "--port", "0");
        assertThat(sound.exitCode()).as(sound.toString()).isZero();
    }
}
