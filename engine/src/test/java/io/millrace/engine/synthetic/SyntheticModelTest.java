package io.millrace.engine.synthetic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.kv.PagePool;
import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.model.ModelPack;
import io.millrace.engine.model.StepGate;
import io.millrace.engine.model.StepInput;
import io.millrace.engine.model.StepPriority;
import io.millrace.engine.model.Transformer;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.tokenizer.Tokenizer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Models of random weights in mini's shape.
class SyntheticModelTest {
    private static final Path MINI = Path.of(System.getProperty("millrace.root", ".."), "models", "mini");

    @TempDir
    private Path folder = Path.of("");

    private static SyntheticModel model(WeightProfile profile, long seed) {
        return new SyntheticModel(MINI.resolve("config.json"), profile, MINI, KernelSettings.defaults(), seed);
    }

    private Path write(String name, WeightProfile profile, long seed) throws IOException {
        Path target = folder.resolve(name);
        ModelConfig shape = model(profile, seed).write(target, LoadProgress.SILENT);
        assertThat(shape.hiddenSize()).isEqualTo(256);
        return target;
    }

    @Test
    void followsFromItsSeed() throws IOException {
        Path one = write("one", WeightProfile.W4A8, 1);
        assertThat(write("again", WeightProfile.W4A8, 1).resolve(ModelPack.FILE_NAME))
                .hasSameBinaryContentAs(one.resolve(ModelPack.FILE_NAME));
        Path other = write("other", WeightProfile.W4A8, 2);
        assertThat(Files.mismatch(other.resolve(ModelPack.FILE_NAME), one.resolve(ModelPack.FILE_NAME)))
                .isNotNegative();
    }

    @Test
    void theSpaceThatIsAskedForIsNearlyThatOfAllFiles() throws IOException {
        for (WeightProfile profile : List.of(WeightProfile.BF16, WeightProfile.W8A8, WeightProfile.W4A8)) {
            Path made = write(profile.id(), profile, 1);
            long taken = 0;
            try (Stream<Path> files = Files.list(made)) {
                for (Path file : files.toList()) {
                    taken += Files.size(file);
                }
            }
            assertThat(model(profile, 1).neededBytes(ModelConfig.read(made)))
                    .as(profile.id())
                    .isBetween(taken * 95 / 100, taken);
        }
    }

    @Test
    void aShapeThatNoDiskHoldsIsRefusedBeforeAnyWork() throws IOException {
        Path config = Files.writeString(
                folder.resolve("config.json"),
                Files.readString(MINI.resolve("config.json"))
                        .replaceFirst("\"n_routed_experts\": *\\d+", "\"n_routed_experts\": 4096")
                        .replaceFirst("\"moe_intermediate_size\": *\\d+", "\"moe_intermediate_size\": 262144")
                        .replaceFirst("\"hidden_size\": *\\d+", "\"hidden_size\": 262144"));
        Path out = folder.resolve("out");
        SyntheticModel huge = new SyntheticModel(config, WeightProfile.BF16, MINI, KernelSettings.defaults(), 1);
        assertThatThrownBy(() -> huge.write(out, LoadProgress.SILENT))
                .isInstanceOf(MillraceException.class)
                .hasMessageMatching(Pattern.quote(out.toString())
                        + ": \\d+ bytes are free there \\(expected: \\d+ for the whole model\\)");
        try (Stream<Path> left = Files.list(folder)) {
            assertThat(left).containsExactly(config);
        }
    }

    @Test
    void statesStayOfOrdinarySize() throws IOException {
        for (WeightProfile profile : List.of(WeightProfile.BF16, WeightProfile.W8A8, WeightProfile.W4A8)) {
            Path made = write(profile.id(), profile, 1);
            try (LoadedModel loaded = LoadedModel.load(made, EngineSettings.defaults(), LoadProgress.SILENT)) {
                assertThat(loaded.numericsId()).contains(";profile=" + profile.id() + ";");
                assertThat(largestResidual(loaded)).as(profile.id()).isBetween(1.0, 30.0);
            }
        }
    }

    // Over all layers, tokens and channels; NaN if anything is.
    private static double largestResidual(LoadedModel model) {
        StepInput input = new StepInput(32, 1);
        LargestResidual residual = new LargestResidual(model.config().hiddenSize());
        try (PagePool pool = PagePool.create(model.layout(), 1);
                Transformer transformer = new Transformer(model, pool, input)) {
            transformer.observe(residual);
            input.addSequence(new int[] {pool.allocate()}, 0, new float[0]);
            for (int i = 0; i < 32; i++) {
                input.addToken(i * 101);
            }
            try (StepGate.Turn _ = model.gate().enter(StepPriority.PREFILL)) {
                transformer.forward(input);
            }
        }
        return residual.largest();
    }

    @Test
    void takesATokenizerWhoseIdsAreFewer() throws IOException {
        Path config = Files.writeString(
                folder.resolve("larger.json"),
                Files.readString(MINI.resolve("config.json")).replace("\"vocab_size\": 4096", "\"vocab_size\": 5000"));
        Path made = folder.resolve("made");
        new SyntheticModel(config, WeightProfile.W8A8, MINI, KernelSettings.defaults(), 1)
                .write(made, LoadProgress.SILENT);
        try (Tokenizer tokenizer = Tokenizer.load(made)) {
            assertThat(tokenizer.decode(new int[] {4999}, false)).isEqualTo("\uFFFD");
        }
        Path smaller = Files.writeString(
                folder.resolve("smaller.json"),
                Files.readString(MINI.resolve("config.json")).replace("\"vocab_size\": 4096", "\"vocab_size\": 4071"));
        assertThatThrownBy(() -> new SyntheticModel(smaller, WeightProfile.W8A8, MINI, KernelSettings.defaults(), 1)
                        .write(folder.resolve("no"), LoadProgress.SILENT))
                .hasMessageContaining("vocab_size: 4071 (expected: at least ");
    }

    @Test
    void whatIsWrongWithAConfigurationIsToldWithItsOwnName() throws IOException {
        Path config = Files.writeString(
                folder.resolve("mine.json"),
                Files.readString(MINI.resolve("config.json")).replace("\"vocab_size\": 4096", "\"vocab_size\": 0"));
        assertThatThrownBy(() -> new SyntheticModel(config, WeightProfile.W8A8, MINI, KernelSettings.defaults(), 1)
                        .write(folder.resolve("no"), LoadProgress.SILENT))
                .hasMessageStartingWith(config + ": ")
                .hasMessageContaining("vocab_size");
        try (Stream<Path> left = Files.list(folder)) {
            assertThat(left).containsExactly(config);
        }
    }

    @Test
    void madeFoldersAreAsOpenAsOthers() throws IOException {
        Path plain = Files.createDirectory(folder.resolve("plain"));
        assertThat(Files.getPosixFilePermissions(write("made", WeightProfile.W8A8, 1)))
                .isEqualTo(Files.getPosixFilePermissions(plain));
    }

    @Test
    void overwritesNothingAndLeavesNothingBehindWhenItFails() throws IOException {
        Path made = write("made", WeightProfile.BF16, 1);
        assertThatThrownBy(() -> model(WeightProfile.BF16, 1).write(made, LoadProgress.SILENT))
                .hasMessage(made + ": exists already (expected: a new folder)");
        assertThatThrownBy(() -> model(WeightProfile.BF16, 1).write(folder.resolve("broken"), (what, done, total) -> {
                    throw new IllegalStateException("stopped");
                }))
                .hasMessage("stopped");
        try (Stream<Path> left = Files.list(folder)) {
            assertThat(left).containsExactly(made);
        }
        assertThatThrownBy(() -> model(WeightProfile.CHECKPOINT, 1))
                .hasMessage("profile: checkpoint (expected: bf16, w8a8 or w4a8)");
    }

    @Test
    void whatAKilledProcessLeftIsRemovedByTheNextAndWhatAnotherMakesStays() throws Exception {
        Path target = folder.resolve("made");
        Process killed = SyntheticRun.start(MINI, target);
        killed.destroyForcibly().waitFor();
        assertThat(left()).hasSize(1);
        Path abandoned = left().getFirst();
        Process running = SyntheticRun.start(MINI, target);
        try {
            Path other = left().getFirst();
            assertThat(left()).containsExactly(other).doesNotContain(abandoned);
            assertThatThrownBy(() -> write("made", WeightProfile.W8A8, 1))
                    .isInstanceOf(MillraceException.class)
                    .hasMessage(target + ": another run is making it (expected: a folder that nobody else makes)");
            assertThat(left()).containsExactly(other);
            running.destroy();
            running.waitFor();
            assertThat(left()).isEmpty();
            write("made", WeightProfile.W8A8, 1);
            assertThat(left()).containsExactly(target);
            assertThat(target).isDirectoryNotContaining("glob:**{lock,.unfinished}");
        } finally {
            running.destroyForcibly().waitFor();
        }
    }

    private List<Path> left() throws IOException {
        try (Stream<Path> paths = Files.list(folder)) {
            return paths.toList();
        }
    }
}
