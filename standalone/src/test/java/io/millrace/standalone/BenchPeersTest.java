package io.millrace.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// `millrace bench` beside other programs, which are scripts here.
class BenchPeersTest {
    private static final Path MINI = Path.of(System.getProperty("millrace.root", ".."), "models", "mini");
    private static final String BENCH = "LLAMA_BENCH";
    private static final String SWEEP = "SWEEP_BENCH";
    private static final String GGUF = "LLAMA_GGUF";
    private static final String OWN_ROW = "decode         1        0  w8a8 ";
    private static final String PEER_ROW = "decode         1        0  Q8_0       llama-bench ";
    private static final String ONE_FIGURE =
            "echo '[{\"model_type\": \"glm 3B Q8_0\", \"n_gen\": 1, \"n_prompt\": 0, \"avg_ts\": 20.0}]'";

    @TempDir
    private Path folder = Path.of("");

    private String gguf = "";

    @BeforeEach
    void makeModel() throws IOException {
        gguf = Files.writeString(folder.resolve("model.gguf"), "GGUF").toString();
    }

    @Test
    void aProgramThatFailsIsToldAfterTheRowsThatWereMeasured() throws IOException {
        String fails = program("fails", "exit 3");
        Path before = folder.resolve("before.json");
        Path json = folder.resolve("rows.json");
        String peer = program("peer", "cp " + json + " " + before + "; " + ONE_FIGURE);
        Path svg = folder.resolve("rows.svg");
        CommandRun run = CommandRun.of(
                new byte[0],
                Map.of(BENCH, peer, SWEEP, fails, GGUF, gguf),
                "bench",
                "--model",
                MINI.toString(),
                "--prefill",
                "",
                "--decode",
                "1",
                "--repeats",
                "1",
                "--warm-up-seconds",
                "0",
                "--json",
                json.toString(),
                "--svg",
                svg.toString());
        assertThat(run.exitCode()).isEqualTo(1);
        assertThat(run.errors()).contains("millrace: " + SWEEP + ": " + fails + " ended with 3 (expected: 0)");
        assertThat(run.answers())
                .anyMatch(line -> line.startsWith(OWN_ROW))
                .anyMatch(line -> line.startsWith(PEER_ROW));
        JsonNode written = JsonMapper.shared().readTree(Files.readString(json));
        assertThat(written).hasSize(3);
        // Of the machine, which stands first.
        assertThat(written.path(0).path(BENCH).asString()).isEqualTo(peer);
        assertThat(written.path(0).path(GGUF).asString()).isEqualTo(gguf);
        assertThat(svg).exists();
        assertThat(JsonMapper.shared().readTree(Files.readString(before))).hasSize(2);
    }

    @Test
    void otherProgramsAreLookedForBeforeAnythingIsMeasured() throws IOException {
        String peer = program("peer", "exit 0");
        String none = folder.resolve("none").toString();
        String plain = Files.writeString(folder.resolve("plain"), "").toString();
        String text = Files.writeString(folder.resolve("text"), "version https").toString();
        for (String name : List.of(BENCH, SWEEP)) {
            refused(Map.of(name, none, GGUF, gguf), name + ": " + none + " (expected: a program that can be run)");
            refused(Map.of(name, "no-such-program", GGUF, gguf), name + ": no-such-program (exp");
            refused(Map.of(name, plain, GGUF, gguf), name + ": " + plain + " (expected: a program");
            refused(
                    Map.of(name, peer),
                    "LLAMA_GGUF: not set beside " + name + " (expected: the GGUF file that it measures)");
            refused(Map.of(name, peer, GGUF, none), "LLAMA_GGUF: " + none + " (expected: a GGUF file)");
            refused(
                    Map.of(name, peer, GGUF, text),
                    "LLAMA_GGUF: " + text + " does not begin with GGUF (expected: a GGUF file)");
            refused(
                    Map.of(name, peer, GGUF, gguf),
                    name + ": nothing to measure (expected: --prefill or --decode; other programs have no --verify)",
                    "--prefill",
                    "",
                    "--decode",
                    "0",
                    "--verify",
                    "2");
        }
    }

    private static void refused(Map<String, String> environment, String sentence, String... options) {
        List<String> args = new ArrayList<>(List.of("bench", "--model", MINI.toString()));
        args.addAll(List.of(options));
        CommandRun run = CommandRun.of(new byte[0], environment, args.toArray(String[]::new));
        assertThat(run.answers()).isEmpty();
        assertThat(run.exitCode()).as(run.errors()).isEqualTo(2);
        assertThat(run.errors()).contains(sentence).hasLineCount(1);
    }

    private String program(String name, String line) throws IOException {
        Path file = Files.writeString(folder.resolve(name), "#!/bin/sh\n" + line + "\n");
        assertThat(file.toFile().setExecutable(true)).isTrue();
        return file.toString();
    }
}
