package io.millrace.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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
        assertRefused("millrace: port: 99999 (expected: 0..65535)", "up", "--port", "99999");
        assertRefused("millrace: port: -1 (expected: 0..65535)", "up", "--port", "-1");
        String url = "millrace: url: foo (expected: one like http://127.0.0.1:8080)";
        assertRefused(url, "generate", "--url", "foo", "Hi");
        assertRefused(url, "chat", "--url", "foo");
        assertRefused(url, "demo", "--url", "foo");
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
        assertThat(exitCodesOf("up")).contains("130", "143");
        assertThat(exitCodesOf("doctor")).contains("a line says FAIL");
        assertThat(exitCodesOf("verify")).contains("beyond tolerance", "nothing to compare");
    }

    private static String exitCodesOf(String command) {
        String help = String.join("\n", CommandRun.of("", command, "--help").answers());
        return help.substring(help.indexOf("Exit codes:"));
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
    void bytesThatAreNotUtf8AreAnError() {
        byte[] line = "{\"text\": \"?\"}".getBytes(StandardCharsets.UTF_8);
        line[10] = (byte) 0xFF;
        CommandRun outcome = CommandRun.of(line, Map.of(), "tokenize", "--model", MINI.toString());
        assertThat(outcome.answers()).containsExactly("{\"error\":\"the line is not valid UTF-8\"}");
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
