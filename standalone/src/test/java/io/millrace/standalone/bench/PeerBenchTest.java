package io.millrace.standalone.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.kernels.KvFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Other programs are scripts here.
class PeerBenchTest {
    private static final String BENCH = "LLAMA_BENCH";
    private static final String SWEEP = "SWEEP_BENCH";
    private static final String GGUF = "LLAMA_GGUF";
    private static final String FIGURE =
            "{\"model_type\": \"glm 3B Q8_0\", \"n_gen\": 16, \"n_prompt\": 0, \"avg_ts\": 20.0}";
    private static final String STEP = "{\"pp\": 512, \"tg\": 16, \"n_kv\": 0, \"speed_pp\": 80.0, \"speed_tg\": 9.0 }";

    @TempDir
    private Path folder = Path.of("");

    private String gguf = "";
    private final List<String> notes = new ArrayList<>();
    private final List<String> rows = new ArrayList<>();

    @BeforeEach
    void makeModel() throws IOException {
        gguf = Files.writeString(folder.resolve("model.gguf"), "GGUF").toString();
    }

    @Test
    void whatIsWrongWithAProgramIsSaidInASentence() throws IOException {
        fails(
                program("broken", "echo 'main: error: failed to load' >&2; echo done >&2; echo '['; exit 1"),
                " ended with 1 (expected: 0), its words: main: error: failed to load");
        fails(program("silent", "exit 0"), " printed no figures");
        fails(program("other", "echo usage: other"), " printed ");
        Path strange = Files.writeString(folder.resolve("strange"), "#!/no/such/shell\n");
        assertThat(strange.toFile().setExecutable(true)).isTrue();
        fails(strange.toString(), " cannot be started: ");
    }

    // Of both programs, where both are this one.
    private void fails(String program, String sentence) {
        assertThatThrownBy(() -> run(Map.of(BENCH, program, SWEEP, program), settings(0), Duration.ofMinutes(1)))
                .isInstanceOf(MillraceException.class)
                .hasMessageStartingWith(BENCH + ": " + program + sentence)
                .hasMessageContaining("; " + SWEEP + ": " + program + " ");
        assertThat(rows).isEmpty();
    }

    @Test
    void aProgramThatHangsIsEndedWithWhatItStarted() throws IOException {
        Path pid = folder.resolve("pid");
        String hangs =
                program("hangs", "sleep 600 & echo $! > " + pid + ".part; mv " + pid + ".part " + pid + "; wait");
        assertThatThrownBy(() -> run(Map.of(BENCH, hangs), settings(0), Duration.ofSeconds(2)))
                .isInstanceOf(MillraceException.class)
                .hasMessage(BENCH + ": " + hangs
                        + " did not end within 0 min (expected: an end; --peer-minutes gives it" + " more)");
        long started = Long.parseLong(Files.readString(pid).strip());
        ProcessHandle.of(started)
                .ifPresent(process -> assertThat(process.onExit()).succeedsWithin(Duration.ofSeconds(30)));
    }

    @Test
    void figuresThatWereWholeBeforeAFailureAreKept() throws IOException {
        String bench = program("bench", "echo '[" + FIGURE + ",'; echo '{\"n_gen\": 16, \"n_pro'; kill -9 $$");
        String sweep = program("sweep", "echo '" + STEP + "' >&2; echo '{\"pp\": 5' >&2; exit 1");
        assertThatThrownBy(() -> run(Map.of(BENCH, bench, SWEEP, sweep), settings(0), Duration.ofMinutes(1)))
                .hasMessageContaining(BENCH + ": " + bench + " ended with 137 (expected: 0)")
                .hasMessageContaining(SWEEP + ": " + sweep + " ended with 1 (expected: 0)");
        assertThat(rows)
                .containsExactly(
                        "Q8_0 decode 16 at 0, llama-bench",
                        "gguf prefill 512 at 0, sweep-bench",
                        "gguf decode 16 at 0, sweep-bench");
        assertThat(notes).contains("Q8_0 decode 16 at 0, llama-bench: 20.0 tokens/s");
    }

    @Test
    void theyAreAskedForWhatMillraceMeasures() throws IOException {
        String words = folder.resolve("words").toString();
        String bench = program("bench", "echo \"$@\" > " + words + "; echo '[" + FIGURE + "]'");
        run(Map.of(BENCH, bench), settings(0, 4096), Duration.ofMinutes(1));
        assertThat(Files.readString(Path.of(words)).strip())
                .isEqualTo("-m " + gguf + " -t 2 -p 512,700 -n 16 -d 0,4096 -r 3 -o json");
        // Builds that know no depths measure at 0.
        run(Map.of(BENCH, bench), settings(0), Duration.ofMinutes(1));
        assertThat(Files.readString(Path.of(words)).strip())
                .isEqualTo("-m " + gguf + " -t 2 -p 512,700 -n 16 -r 3 -o json");
        String sweep = program("sweep", "echo \"$@\" > " + words + "; echo '" + STEP + "'");
        // The context is a whole number of steps.
        run(Map.of(SWEEP, sweep), settings(0, 1100), Duration.ofMinutes(1));
        assertThat(Files.readString(Path.of(words)).strip())
                .isEqualTo("-m " + gguf + " -t 2 --output-format jsonl -c 1536 -ub 512 -n 16");
    }

    @Test
    void ofASweepOnlyTheStepsOfTheAskedDepthsAreTaken() throws IOException {
        StringBuilder lines = new StringBuilder();
        for (int depth = 0; depth < 4096; depth += 512) {
            lines.append("echo '")
                    .append(STEP.replace("\"n_kv\": 0", "\"n_kv\": " + depth))
                    .append("'\n");
        }
        run(Map.of(SWEEP, program("sweep", lines.toString())), settings(100, 3072), Duration.ofMinutes(1));
        assertThat(rows)
                .containsExactly(
                        "gguf prefill 512 at 0, sweep-bench",
                        "gguf decode 16 at 0, sweep-bench",
                        "gguf prefill 512 at 3072, sweep-bench",
                        "gguf decode 16 at 3072, sweep-bench");
    }

    @Test
    void itRunsInAFolderThatIsGoneAfterwards() throws IOException {
        Path pwd = folder.resolve("pwd");
        String bench = program("bench", "touch llama.log; pwd > " + pwd + "; echo '[" + FIGURE + "]'");
        run(Map.of(BENCH, bench), settings(0), Duration.ofMinutes(1));
        Path ranIn = Path.of(Files.readString(pwd).strip());
        assertThat(ranIn).isNotEqualTo(Path.of("").toAbsolutePath()).doesNotExist();
    }

    @Test
    void aModelThatNobodyMeasuresIsTold() throws IOException {
        new PeerBench(Map.of(GGUF, gguf), settings(0), Duration.ofMinutes(1), notes::add).check();
        assertThat(notes)
                .containsExactly("LLAMA_GGUF is set, but no program that measures it (expected: LLAMA_BENCH or"
                        + " SWEEP_BENCH as well)");
    }

    private void run(Map<String, String> programs, BenchSettings settings, Duration limit) throws IOException {
        Map<String, String> environment = new HashMap<>(programs);
        environment.put(GGUF, gguf);
        PeerBench peers = new PeerBench(environment, settings, limit, notes::add);
        peers.check();
        peers.run(row -> rows.add(row.profile() + " " + row.work().label() + ", " + row.provider()));
    }

    private static BenchSettings settings(Integer... depths) {
        return new BenchSettings(
                List.of(WeightProfile.W8A8),
                List.of(false),
                List.of(512, 700),
                16,
                List.of(),
                List.of(depths),
                KvFormat.BF16,
                512,
                3,
                20,
                new KernelSettings("auto", 2, null, "auto"));
    }

    private String program(String name, String lines) throws IOException {
        Path file = Files.writeString(folder.resolve(name), "#!/bin/sh\n" + lines + "\n");
        assertThat(file.toFile().setExecutable(true)).isTrue();
        return file.toString();
    }
}
