package io.millrace.standalone;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.quantize.ModelQuantizer;
import io.millrace.engine.quantize.QuantizeProgress;
import io.millrace.engine.quantize.QuantizeSettings;
import io.millrace.kernels.nativecode.NativeKernels;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// `millrace bench` with the embedded model and small numbers, and but for [BenchCommandIT] without waiting for the
/// compiler: no speed is looked at here.
class BenchCommandTest {
    private static final Path MINI = Path.of(System.getProperty("millrace.root", ".."), "models", "mini");

    @TempDir
    private Path folder = Path.of("");

    @Test
    void measuresAndWritesTableJsonAndPlot() throws IOException {
        Path json = folder.resolve("rows.json");
        Path svg = folder.resolve("rows.svg");
        CommandRun run = CommandRun.of(
                "",
                "bench",
                "--model",
                MINI.toString(),
                "--profile",
                "w4a8",
                "--prefill",
                "20",
                "--decode",
                "3",
                "--depth",
                "0,150",
                "--kv",
                "int8",
                "--dsa",
                "auto,dense",
                "--repeats",
                "2",
                "--warm-up-seconds",
                "0",
                "--threads",
                "0",
                "--chunk",
                "16",
                "--json",
                json.toString(),
                "--svg",
                svg.toString());
        assertThat(run.exitCode()).as(run.errors()).isZero();
        assertThat(run.errors()).contains("the 150 tokens of the greatest depth are random keys, not computed");
        assertThat(run.answers())
                .anyMatch(line -> line.startsWith("decode         3      150  w4a8"))
                .anyMatch(line -> line.startsWith("  prefill 20 at 150, w4a8: attention part "));
        assertThat(run.errors()).contains(": w4a8 decode 3 at 150, auto: ", ": w4a8 decode 3 at 150, dense: ");
        assertThat(run.errors()).doesNotContain("MORE THAN");
        assertThat(Files.readString(svg)).startsWith("<svg ").contains("<title>mini: ", ", int8 keys, Millrace ");
        JsonNode machine = JsonMapper.shared().readTree(Files.readString(json)).path(0);
        assertThat(machine.path("model").asString()).isEqualTo("mini");
        assertThat(machine.path("kv").asString()).isEqualTo("int8");
        assertThat(machine.path("chunk").asInt()).isEqualTo(16);
        assertThat(machine.path("threads").asInt())
                .isEqualTo(Runtime.getRuntime().availableProcessors());
        assertThat(machine.path("options").valueStream().map(JsonNode::asString))
                .startsWith("bench", "--model", MINI.toString())
                .contains("--chunk", "16");
        List<JsonNode> rows = rows(json);
        if (NativeKernels.declines().isEmpty()) {
            assertThat(JsonMapper.shared()
                            .readTree(Files.readString(json))
                            .path(0)
                            .path("phase")
                            .asString())
                    .isEqualTo("machine");
            assertThat(rows)
                    .allSatisfy(row -> assertThat(List.of("limitTokensPerSecond", "readBytesPerSecond"))
                            .allSatisfy(name ->
                                    assertThat(row.path(name).asDouble()).isPositive()));
        }
        assertThat(rows)
                .extracting(row -> row.path("phase").asString() + " "
                        + row.path("tokens").asInt() + " at "
                        + row.path("depth").asInt() + " " + row.path("dsa").asString())
                .containsExactly(
                        "prefill 20 at 0 auto",
                        "decode 3 at 0 auto",
                        "prefill 20 at 150 auto",
                        "decode 3 at 150 auto",
                        "prefill 20 at 0 dense",
                        "decode 3 at 0 dense",
                        "prefill 20 at 150 dense",
                        "decode 3 at 150 dense");
        assertThat(rows).allSatisfy(row -> {
            double speed = row.path("tokensPerSecond").asDouble();
            assertThat(speed)
                    .isBetween(row.path("min").asDouble(), row.path("max").asDouble())
                    .isPositive();
            assertThat(row.path("repeats").asInt()).isEqualTo(2);
        });
    }

    @Test
    void verificationCountsTheBytesItTouchesOnce() throws IOException {
        Path json = folder.resolve("rows.json");
        CommandRun run = CommandRun.of(
                "",
                "bench",
                "--model",
                MINI.toString(),
                "--prefill",
                "",
                "--decode",
                "6",
                "--verify",
                "1,3",
                "--depth",
                "150",
                "--repeats",
                "1",
                "--warm-up-seconds",
                "0",
                "--json",
                json.toString());
        assertThat(run.exitCode()).as(run.errors()).isZero();
        List<JsonNode> rows = rows(json);
        double decode = rows.get(0).path("bytesPerToken").asDouble();
        assertThat(rows).extracting(row -> row.path("tokens").asInt()).containsExactly(6, 6, 18);
        assertThat(rows).extracting(row -> row.path("rowsPerStep").asInt()).containsExactly(1, 1, 3);
        // One row chooses as many experts and slots as a decoded token is said to.
        assertThat(rows.get(1).path("bytesPerToken").asDouble()).isCloseTo(decode, within(1e-6 * decode));
        double three = rows.get(2).path("bytesPerToken").asDouble();
        // Three rows share what does not depend on tokens, and some experts and keys.
        assertThat(three).isBetween(decode / 3, decode);
        assertThat(run.answers()).anyMatch(line -> line.startsWith("verify 3      18      150  w8a8"));
    }

    @Test
    void aQuantisedCheckpointIsTakenAsItIs() {
        Path quantised = quantised("w4a8");
        assertThat(benched(quantised)).anyMatch(line -> line.startsWith("decode         1        0  w4a8 "));
        assertThat(benched(quantised, "--profile", "checkpoint,w4a8"))
                .filteredOn(line -> line.startsWith("decode "))
                .hasSize(2)
                .allMatch(line -> line.startsWith("decode         1        0  w4a8 "));
        refused(
                "--profile: w8a8 (expected: checkpoint or w4a8, as " + quantised + " stores its weights)",
                "--model",
                quantised.toString(),
                "--profile",
                "w4a8,w8a8");
        Path int8 = quantised("w8a8");
        assertThat(benched(int8)).anyMatch(line -> line.startsWith("decode         1        0  w8a8 "));
        refused("--profile: bf16 (expected: checkpoint or w8a8, ", "--model", int8.toString(), "--profile", "bf16");
    }

    @Test
    void aPackedFolderIsTakenAsItIs() {
        Path packed = folder.resolve("packed");
        CommandRun made = CommandRun.of(
                "",
                "synthesize",
                "--config",
                MINI.resolve("config.json").toString(),
                "--out",
                packed.toString(),
                "--profile",
                "w4a8",
                "--tokenizer",
                MINI.toString());
        assertThat(made.exitCode()).as(made.errors()).isZero();
        assertThat(benched(packed)).anyMatch(line -> line.startsWith("decode         1        0  w4a8 "));
        refused(
                "--profile: w8a8 (expected: checkpoint or w4a8, as " + packed + " stores its weights)",
                "--model",
                packed.toString(),
                "--profile",
                "w4a8,w8a8");
    }

    @Test
    void floatsAreRoundedToInt8UnlessTheyAreToBeTakenAsTheyAre() {
        assertThat(benched(MINI)).anyMatch(line -> line.startsWith("decode         1        0  w8a8 "));
        assertThat(benched(MINI, "--profile", "checkpoint"))
                .anyMatch(line -> line.startsWith("decode         1        0  checkpoint "));
    }

    @Test
    void randomWeightsHaveNoCheckpoint() {
        refused(
                "--profile: \"checkpoint\" (expected: bf16, w8a8, w4a8; random weights have no other)",
                "--synthetic",
                MINI.resolve("config.json").toString(),
                "--profile",
                "checkpoint");
    }

    private Path quantised(String profile) {
        Path made = folder.resolve("quantised-" + profile);
        try {
            new ModelQuantizer(
                            MINI,
                            made,
                            QuantizeSettings.of(WeightProfile.of(profile)).withoutSearch(),
                            QuantizeProgress.SILENT)
                    .run(List.of(), List.of());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return made;
    }

    // One decoded token.
    private static List<String> benched(Path model, String... options) {
        List<String> args = new ArrayList<>(List.of("bench", "--model", model.toString()));
        args.addAll(List.of("--prefill", "", "--decode", "1", "--repeats", "1", "--warm-up-seconds", "0"));
        args.addAll(List.of(options));
        CommandRun run = CommandRun.of("", args.toArray(String[]::new));
        assertThat(run.exitCode()).as(run.errors()).isZero();
        return run.answers();
    }

    @Test
    void whatCannotBeDoneIsSaidInASentence() {
        usage("--prefill: \"x\" (expected: numbers separated by commas, e.g. 512,2048)", "--prefill", "x");
        usage("--prefill: 0 (expected: 1..", "--prefill", "0");
        usage("--decode: -1 (expected: 0..", "--decode", "-1");
        usage("--peer-minutes: 0 (expected: 1..2147483647)", "--peer-minutes", "0");
        usage("--verify: 0 (expected: 1..64)", "--verify", "2,0");
        usage("--verify: 65 (expected: 1..64)", "--verify", "65");
        usage("--depth: -1 (expected: 0..", "--depth", "-1");
        usage("--depth: none (expected: at least one, e.g. 0)", "--depth", "");
        usage("--threads: -1 (expected: 0..1024)", "--threads", "-1");
        usage("--dsa: \"sparse\" (expected: auto or dense)", "--dsa", "sparse");
        usage("--profile: \"w8a9\" (expected: checkpoint, bf16, w8a8, w4a8)", "--profile", "w8a9");
        usage("--profile: \"\" (expected: checkpoint, bf16, w8a8, w4a8)", "--profile", "");
        usage(
                "--isa: avx2 beside --provider vector (expected: auto; only native kernels choose an instruction set)",
                "--provider",
                "vector",
                "--isa",
                "avx2");
        usage("--chunk: 0 (expected: 1..8192)", "--chunk", "0");
        usage("--repeats: 0 (expected: 1..1000)", "--repeats", "0");
        usage("nothing to measure", "--prefill", "", "--decode", "0");
        usage("8192, the model's max_position_embeddings", "--depth", "9000");
        usage("beside --model (expected: one of them)", "--synthetic", "config.json");
        usage("--json: ", "--json", folder.resolve("no/rows.json").toString());
    }

    private static List<JsonNode> rows(Path json) throws IOException {
        return JsonMapper.shared()
                .readTree(Files.readString(json))
                .valueStream()
                .filter(row -> !row.path("phase").asString().equals("machine"))
                .toList();
    }

    private static void usage(String sentence, String... options) {
        List<String> args = new ArrayList<>(List.of("--model", MINI.toString()));
        args.addAll(List.of(options));
        refused(sentence, args.toArray(String[]::new));
    }

    private static void refused(String sentence, String... options) {
        List<String> args = new ArrayList<>(List.of("bench"));
        args.addAll(List.of(options));
        CommandRun run = CommandRun.of("", args.toArray(String[]::new));
        assertThat(run.answers()).isEmpty();
        assertThat(run.exitCode()).as(run.errors()).isEqualTo(2);
        assertThat(run.errors()).contains(sentence).hasLineCount(1);
    }

    @Test
    void aFileThatCannotBeWrittenIsRefusedBeforeAnythingIsMeasured() {
        assumeTrue(Files.isDirectory(Path.of("/proc/self")), "there is a folder that nobody can write to");
        for (String option : List.of("--json", "--svg")) {
            CommandRun run = CommandRun.of(
                    "", "bench", "--model", MINI.toString(), "--prefill", "1000000", option, "/proc/rows");
            assertThat(run.exitCode()).isEqualTo(2);
            assertThat(run.errors())
                    .startsWith("millrace: " + option + ": /proc/rows: ")
                    .hasLineCount(1);
        }
    }
}
