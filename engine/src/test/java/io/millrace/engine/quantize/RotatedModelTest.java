package io.millrace.engine.quantize;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.checkpoint.CheckpointWriter;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.kv.PagePool;
import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.model.StepInput;
import io.millrace.engine.model.TestModels;
import io.millrace.engine.model.Transformer;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.DsaSettings;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.settings.KvSettings;
import io.millrace.engine.settings.WeightsSettings;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.MlaForm;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/// A rotation folded into the weights changes nothing but roundings: logits, draft logits and states are
/// those of the unrotated model.
class RotatedModelTest {
    private static final int TOKENS = 70;
    private static final double TOLERANCE = 1e-4;

    @TempDir
    private Path folder = Path.of("");

    /// What a model says about a text.
    private static final class Run {
        private final float[] logits;
        private final float[] drafts;
        private final float[] state;

        Run(float[] logits, float[] drafts, float[] state) {
            this.logits = logits;
            this.drafts = drafts;
            this.state = state;
        }
    }

    static Stream<String> models() {
        return Stream.concat(Stream.of(TestModels.MINI), TestModels.GOLDEN.stream());
    }

    @ParameterizedTest
    @MethodSource("models")
    void logitsDraftsAndStatesAreThoseOfTheUnrotatedModel(String name) throws IOException {
        assertSame(TestModels.directory(name));
    }

    @ParameterizedTest
    @EnumSource(MlaForm.class)
    void sizesThatAreNoPowersOfTwoRotateInBlocks(MlaForm form) throws IOException {
        Path odd = folder.resolve("odd");
        CheckpointWriter.write(odd, OddConfig.JSON, 1, 7);
        ModelConfig config = ModelConfig.read(odd);
        assertThat(config.hiddenSize()).isEqualTo(24);
        assertSame(odd, form);
        assertThat(ModelConfig.read(folder.resolve("rotated")).rotation()).hasValueSatisfying(rotation -> {
            assertThat(rotation.residualBlock()).isEqualTo(8);
            assertThat(rotation.valueBlock()).isEqualTo(2);
            assertThat(rotation.denseBlock()).isEqualTo(4);
            assertThat(rotation.expertBlock()).isEqualTo(4);
            assertThat(rotation.sharedBlock()).isEqualTo(8);
        });
    }

    @ParameterizedTest
    @EnumSource(
            value = WeightProfile.class,
            names = {"W8A8", "W4A8"})
    void providersAgreeOnIntegersUpToRoundingsOfActivations(WeightProfile profile) throws IOException {
        Path odd = folder.resolve("odd");
        CheckpointWriter.write(odd, OddConfig.JSON, 1, 7);
        Path made = folder.resolve("made");
        new ModelQuantizer(odd, made, QuantizeSettings.of(profile), QuantizeProgress.SILENT).run(List.of(), List.of());
        Run scalar = run(made, "scalar", MlaForm.ABSORBED, "quarot-1:");
        Run vector = run(made, "vector", MlaForm.ABSORBED, "quarot-1:");
        assertThat(meanDistance(vector.logits, scalar.logits)).isLessThan(0.002 * meanSize(scalar.logits));
        assertThat(meanDistance(vector.drafts, scalar.drafts)).isLessThan(0.002 * meanSize(scalar.drafts));
    }

    private static double meanDistance(float[] a, float[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += Math.abs(a[i] - b[i]);
        }
        return sum / a.length;
    }

    private static double meanSize(float[] a) {
        return meanDistance(a, new float[a.length]);
    }

    private void assertSame(Path source) throws IOException {
        assertSame(source, MlaForm.ABSORBED);
    }

    private void assertSame(Path source, MlaForm form) throws IOException {
        Path rotated = folder.resolve("rotated");
        new ModelQuantizer(source, rotated, QuantizeSettings.of(WeightProfile.CHECKPOINT), QuantizeProgress.SILENT)
                .run(List.of(), List.of());
        Run expected = run(source, "vector", form, "none");
        Run found = run(rotated, "vector", form, "quarot-1:");
        assertClose("logits", found.logits, expected.logits);
        assertClose("drafts", found.drafts, expected.drafts);
        assertClose("state", found.state, expected.state);
    }

    private static void assertClose(String what, float[] found, float[] expected) {
        if (expected.length == 0) {
            return;
        }
        double worst = 0;
        double largest = 0;
        for (int i = 0; i < expected.length; i++) {
            worst = Math.max(worst, Math.abs(found[i] - expected[i]));
            largest = Math.max(largest, Math.abs(expected[i]));
        }
        assertThat(worst).as(what + " up to " + largest).isLessThan(TOLERANCE * Math.min(1, largest));
    }

    private static Run run(Path directory, String provider, MlaForm form, String rotation) {
        EngineSettings settings = new EngineSettings(
                new KernelSettings(provider, 2, form, null),
                DsaSettings.defaults(),
                new KvSettings(KvFormat.F32, null),
                new WeightsSettings(0, null, WeightsSettings.OFF));
        StepInput input = new StepInput(TOKENS, 1);
        try (LoadedModel model = LoadedModel.load(directory, settings, LoadProgress.SILENT);
                PagePool pool = PagePool.create(model.layout(), PagePool.pagesFor(TOKENS));
                Transformer transformer = new Transformer(model, pool, input);
                Arena arena = Arena.ofShared()) {
            assertThat(model.numericsId()).contains(";rotation=" + rotation);
            int vocabSize = model.config().vocabSize();
            int[] pages = new int[pool.pages()];
            for (int i = 0; i < pages.length; i++) {
                pages[i] = pool.allocate();
            }
            input.addSequence(pages, 0, new float[0]);
            Random random = new Random(5);
            int[] rows = new int[TOKENS];
            for (int i = 0; i < TOKENS; i++) {
                input.addToken(random.nextInt(vocabSize));
                rows[i] = i;
            }
            MemorySegment logits = arena.allocate((long) TOKENS * vocabSize * Float.BYTES, 64);
            transformer.forward(input);
            transformer.logits(rows, TOKENS, logits);
            float[] all = logits.toArray(JAVA_FLOAT);
            float[] state = new float[model.config().hiddenSize()];
            transformer.state(TOKENS - 1, state);
            float[] drafts = new float[0];
            if (model.config().mtpLayers() > 0) {
                transformer.predict();
                int[] pairs = Arrays.copyOfRange(rows, 1, TOKENS);
                transformer.predictedLogits(pairs, pairs.length, logits);
                drafts = logits.toArray(JAVA_FLOAT);
                MemorySegment boundary = pool.boundaryState(pages[0]);
                state = Arrays.copyOf(state, state.length * 2);
                MemorySegment.copy(boundary, JAVA_FLOAT, 0, state, state.length / 2, state.length / 2);
            }
            return new Run(all, drafts, state);
        }
    }
}
