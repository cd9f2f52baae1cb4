package io.millrace.engine.quantize;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.spi.ILoggingEvent;
import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.engine.checkpoint.CheckpointWriter;
import io.millrace.engine.checkpoint.WeightRotation;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.logging.RecordedLog;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.model.ModelPack;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.kernels.MlaForm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// What quantising leaves behind: a whole checkpoint or nothing.
class ModelQuantizerTest {
    private static final QuantizeSettings W4A8 = QuantizeSettings.of(WeightProfile.W4A8);

    @TempDir
    private Path folder = Path.of("");

    private Path source = Path.of("");

    @BeforeEach
    void writeSource() {
        source = folder.resolve("source");
        CheckpointWriter.write(source, OddConfig.JSON, 1, 11);
    }

    private QuantizeReport quantize(Path target, QuantizeSettings settings, QuantizeProgress progress)
            throws IOException {
        return new ModelQuantizer(source, target, settings, progress).run(List.of(), QuantizeRun.text());
    }

    @Test
    void leavesReportAndCopiesBesideTheWeights() throws IOException {
        Files.writeString(source.resolve("tokenizer.json"), "{}");
        Files.writeString(source.resolve("chat_template.jinja"), "x");
        Path made = folder.resolve("made");
        QuantizeReport report = quantize(made, W4A8, QuantizeProgress.SILENT);
        assertThat(made.resolve("tokenizer.json")).hasContent("{}");
        assertThat(made.resolve("chat_template.jinja")).hasContent("x");
        assertThat(Files.readAllLines(made.resolve(ModelQuantizer.REPORT))).isEqualTo(report.lines());
        assertThat(Files.getPosixFilePermissions(made))
                .isEqualTo(Files.getPosixFilePermissions(Files.createDirectory(folder.resolve("plain"))));
        assertThat(report.lines())
                .contains(
                        "calibration: none",
                        "errors: what rounding its matrices changes of their output,"
                                + " relative to the output, for inputs taken to be all alike");
        assertThat(report.layers()).hasSize(5);
        assertThat(report.layers())
                .allSatisfy(
                        layer -> assertThat(layer.relative()).as(layer.layer()).isBetween(0.001, 0.15));
        assertThat(report.sizeAfter()).isLessThan(report.sizeBefore());
        try (Checkpoint checkpoint = Checkpoint.open(made)) {
            assertThat(checkpoint.tensorBytes()).isEqualTo(report.sizeAfter());
        }
    }

    @Test
    void theSpaceThatIsAskedForIsThatOfAllFiles() throws IOException {
        Files.writeString(source.resolve("tokenizer.json"), "{}".repeat(9000));
        Files.writeString(source.resolve("LICENSE"), "x");
        for (QuantizeSettings settings : List.of(W4A8, W4A8.withShards(4000).withoutRotation())) {
            Path made = folder.resolve("made" + settings.rotate());
            ModelQuantizer quantizer = new ModelQuantizer(source, made, settings, QuantizeProgress.SILENT);
            quantizer.run(List.of(), QuantizeRun.text());
            long taken = 0;
            try (Stream<Path> files = Files.list(made)) {
                for (Path file : files.toList()) {
                    taken += Math.ceilDiv(Files.size(file), 4096L) * 4096;
                }
            }
            try (Checkpoint checkpoint = Checkpoint.open(source)) {
                WeightRotation rotation =
                        settings.rotate() ? WeightRotation.largest(checkpoint.config(), settings.seed()) : null;
                CheckpointOutput output = new CheckpointOutput(checkpoint, settings, made);
                assertThat(quantizer.neededBytes(output, rotation)).isBetween(taken, taken + (64 << 10));
            }
        }
    }

    @Test
    void theKernelsThatAreAskedForCompute() throws IOException {
        KernelSettings kernels = new KernelSettings("scalar", 1, MlaForm.ABSORBED, null);
        try (RecordedLog log = new RecordedLog(LoadedModel.class.getName())) {
            new ModelQuantizer(source, folder.resolve("made"), W4A8.computedBy(kernels), QuantizeProgress.SILENT)
                    .run(QuantizeRun.text(), QuantizeRun.text());
            assertThat(log.lines())
                    .extracting(ILoggingEvent::getFormattedMessage)
                    .filteredOn(line -> line.startsWith("kernels "))
                    .hasSize(3)
                    .containsOnly("kernels scalar");
        }
    }

    @Test
    void configurationFollowsTheConventions() throws IOException {
        Path made = folder.resolve("made");
        quantize(made, W4A8, QuantizeProgress.SILENT);
        JsonNode config = JsonMapper.shared().readTree(Files.readString(made.resolve("config.json")));
        JsonNode quantization = config.get("quantization_config");
        assertThat(quantization.get("quant_method").asString()).isEqualTo("compressed-tensors");
        assertThat(quantization.get("format").asString()).isEqualTo("mixed-precision");
        assertThat(quantization.at("/config_groups/group_0/format").asString()).isEqualTo("int-quantized");
        assertThat(quantization.at("/config_groups/group_1/format").asString()).isEqualTo("pack-quantized");
        assertThat(quantization.at("/config_groups/group_1/weights/group_size").asInt())
                .isEqualTo(32);
        List<String> ignored =
                quantization.get("ignore").valueStream().map(JsonNode::asString).toList();
        assertThat(ignored)
                .contains("model.layers.1.mlp.gate", "model.layers.0.self_attn.indexer.weights_proj")
                .doesNotContain("lm_head", "model.layers.0.mlp.gate_proj");
    }

    @Test
    void refusesToOverwriteAndToQuantiseTwice() throws IOException {
        Path made = folder.resolve("made");
        quantize(made, W4A8, QuantizeProgress.SILENT);
        assertThatThrownBy(() -> quantize(made, W4A8, QuantizeProgress.SILENT))
                .isInstanceOf(MillraceException.class)
                .hasMessageContaining(made + ": exists already (expected: a new folder)");
        source = made;
        assertThatThrownBy(() -> quantize(folder.resolve("twice"), W4A8, QuantizeProgress.SILENT))
                .isInstanceOf(MillraceException.class)
                .hasMessageContaining("quantised or rotated already");
        assertThat(folder.resolve("twice")).doesNotExist();
    }

    @Test
    void theReportSaysWhatItsFiguresRestOn() throws IOException {
        boolean[] counted = new boolean[50];
        Arrays.fill(counted, true);
        List<TokenSequence> many = Collections.nCopies(20, new TokenSequence(new int[50], counted));
        QuantizeReport enough = new ModelQuantizer(source, folder.resolve("a"), W4A8, QuantizeProgress.SILENT)
                .run(new CalibrationText(many, many, CalibrationOrigin.BUILT_IN));
        assertThat(enough.lines())
                .contains("calibration: 1,000 tokens of the built-in text")
                .noneMatch(line -> line.startsWith("warning: "))
                .anyMatch(line -> line.startsWith("note: the perplexity is of the built-in text alone; "));
        QuantizeReport few = new ModelQuantizer(source, folder.resolve("b"), W4A8, QuantizeProgress.SILENT)
                .run(new CalibrationText(many.subList(0, 19), many, CalibrationOrigin.GIVEN));
        assertThat(few.lines())
                .contains("warning: 950 tokens of calibration are too few to rank options by"
                        + " (expected: 1,000 tokens or more)")
                .noneMatch(line -> line.startsWith("note: "));
    }

    @Test
    void refusesBeforeAnyWorkWhatCannotBeDone() throws IOException {
        List<String> phases = new ArrayList<>();
        QuantizeProgress noted = (phase, done, total) -> phases.add(phase);
        Path below = Files.writeString(folder.resolve("file"), "").resolve("made");
        assertThatThrownBy(() -> quantize(below, W4A8, noted))
                .isInstanceOf(MillraceException.class)
                .hasMessageStartingWith(below + ": " + below.getParent() + " is not a folder (expected: ");
        Files.writeString(source.resolve(ModelPack.FILE_NAME), "");
        assertThatThrownBy(() -> quantize(folder.resolve("made"), W4A8, noted))
                .isInstanceOf(MillraceException.class)
                .hasMessage(source + ": packed weights, which cannot be quantised"
                        + " (expected: a checkpoint in floating point)");
        source = folder.resolve("file");
        assertThatThrownBy(() -> quantize(folder.resolve("made"), W4A8, noted))
                .isInstanceOf(MillraceException.class)
                .hasMessage(source + ": a file (expected: a folder with config.json)");
        assertThat(phases).isEmpty();
    }

    @Test
    void whereverItStopsNothingIsLeftThatLoads() throws IOException {
        int[] steps = {0};
        quantize(folder.resolve("counted"), W4A8, (phase, done, total) -> steps[0]++);
        for (int stop = 1; stop < steps[0] + 17; stop += 17) {
            int at = Math.min(stop, steps[0]); // the last step measures the new checkpoint
            int[] step = {0};
            Path made = folder.resolve("stopped");
            assertThatThrownBy(() -> quantize(made, W4A8.withShards(1000), (phase, done, total) -> {
                        // What a killed run would leave at this moment must not load.
                        assertNothingLoads();
                        if (++step[0] == at) {
                            throw new IllegalStateException("stopped");
                        }
                    }))
                    .hasMessage("stopped");
            assertThat(made).doesNotExist();
            try (Stream<Path> left = Files.list(folder)) {
                assertThat(left.map(path -> path.getFileName().toString()))
                        .containsExactlyInAnyOrder("source", "counted");
            }
        }
    }

    private void assertNothingLoads() {
        try (Stream<Path> unfinished = Files.list(folder)) {
            unfinished
                    .filter(path -> path.getFileName().toString().contains("stopped"))
                    .forEach(path -> assertThatThrownBy(
                                    () -> Checkpoint.open(path).close())
                            .isInstanceOf(MillraceException.class));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void scaleSearchLowersTheErrorOfTheWeights() throws IOException {
        QuantizeReport with = quantize(folder.resolve("with"), W4A8, QuantizeProgress.SILENT);
        QuantizeReport without = quantize(folder.resolve("without"), W4A8.withoutSearch(), QuantizeProgress.SILENT);
        // That no row gets worse is ScaleSearchTest's matter: here scaled channels make them other rows.
        for (String layer : List.of("layer 1", "layer 2", "layer 3")) {
            assertThat(error(with, layer)).as(layer).isLessThan(0.92 * error(without, layer));
        }
    }

    private static double error(QuantizeReport report, String layer) {
        return report.layers().stream()
                .filter(each -> each.layer().equals(layer))
                .findFirst()
                .orElseThrow()
                .relative();
    }
}
