package io.millrace.engine.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.pack.MatrixSpec;
import io.millrace.engine.pack.VectorSpec;
import io.millrace.engine.pack.WeightTensors;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.WeightSource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// A model folder that holds a pack of generated weights instead of a checkpoint.
class OwnPackTest {
    private static final KernelSettings SCALAR = new KernelSettings("scalar", 2, null, null);

    @TempDir
    Path folder;

    private Path model;

    /// Weights that follow from their names.
    private static final class Generated implements WeightTensors {
        @Override
        public WeightSource matrix(MatrixSpec spec, Arena arena) {
            MemorySegment data = floats(spec.name(), (long) spec.rows() * spec.columns(), arena);
            return MatrixView.rowMajor(QuantFormat.F32, data, spec.rows(), spec.columns());
        }

        @Override
        public MemorySegment vector(VectorSpec spec, Arena arena) {
            return floats(spec.name(), spec.size(), arena);
        }

        private static MemorySegment floats(String name, long count, Arena arena) {
            Random random = new Random(name.hashCode());
            MemorySegment data = arena.allocate(count * Float.BYTES, 64);
            for (long i = 0; i < count; i++) {
                data.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) random.nextGaussian() * 0.05f);
            }
            return data;
        }

        @Override
        public byte[] digest() {
            byte[] digest = new byte[32];
            digest[0] = 42;
            return digest;
        }
    }

    @BeforeEach
    void copyConfiguration() {
        model = PackRun.copy("glm5-tiny", folder.resolve("model"));
    }

    private void write(WeightProfile profile) throws IOException {
        Files.deleteIfExists(model.resolve("model.safetensors"));
        ModelPack.write(model, profile, SCALAR, new Generated(), LoadProgress.SILENT);
    }

    private LoadedModel load(String provider, WeightProfile profile) {
        return LoadedModel.load(
                model, PackRun.settings(folder.resolve("packs").toString(), provider, profile), LoadProgress.SILENT);
    }

    @Test
    void isTakenAsItIs() throws IOException {
        write(WeightProfile.W4A8);
        assertThat(ModelPack.inspect(model).hiddenSize()).isEqualTo(128);
        try (LoadedModel loaded = load("scalar", WeightProfile.CHECKPOINT);
                LoadedModel asked = load("scalar", WeightProfile.W4A8)) {
            assertThat(loaded.packFile()).contains(model.resolve(ModelPack.FILE_NAME));
            assertThat(loaded.weightsDigest()[0]).isEqualTo((byte) 42);
            assertThat(loaded.numericsId()).contains(";profile=w4a8;").isEqualTo(asked.numericsId());
            assertThat(PackRun.logits(loaded)).containsExactlyElementsOf(PackRun.logits(asked));
        }
        assertThat(folder.resolve("packs")).doesNotExist();
    }

    @Test
    void anotherProfileOrProviderIsRefused() throws IOException {
        write(WeightProfile.BF16);
        assertThatThrownBy(() -> load("scalar", WeightProfile.W8A8))
                .hasMessage("millrace.weights.profile: w8a8 (expected: bf16, the profile that "
                        + model.resolve(ModelPack.FILE_NAME)
                        + " is packed in, or checkpoint, which takes it as it is)");
        assertThatThrownBy(() -> load("vector", WeightProfile.CHECKPOINT)).hasMessageContaining("layouts=");
    }

    @Test
    void aDamagedOneIsRefusedAndStays() throws IOException {
        write(WeightProfile.BF16);
        Path pack = model.resolve(ModelPack.FILE_NAME);
        byte[] bytes = Files.readAllBytes(pack);
        bytes[bytes.length / 2] ^= 1;
        Files.write(pack, bytes);
        assertThatThrownBy(() -> load("scalar", WeightProfile.CHECKPOINT))
                .hasMessageContaining(pack.toString())
                .hasMessageContaining("wrong checksum");
        assertThat(pack).hasBinaryContent(bytes);
    }

    @Test
    void oneOfAnotherConfigurationIsRefused() throws IOException {
        write(WeightProfile.BF16);
        Path config = model.resolve("config.json");
        Files.writeString(config, Files.readString(config) + "\n");
        assertThatThrownBy(() -> load("scalar", WeightProfile.CHECKPOINT)).hasMessageContaining("config=");
    }

    @Test
    void oneBesideACheckpointIsRefused() throws IOException {
        ModelPack.write(model, WeightProfile.BF16, SCALAR, new Generated(), LoadProgress.SILENT);
        assertThatThrownBy(() -> load("scalar", WeightProfile.CHECKPOINT)).hasMessageContaining("beside safetensors");
        assertThatThrownBy(() -> ModelPack.inspect(model)).hasMessageContaining("beside safetensors");
    }

    @Test
    void aSourceThatFailsLeavesNothing() {
        WeightTensors broken = new WeightTensors() {
            private final Generated generated = new Generated();

            @Override
            public WeightSource matrix(MatrixSpec spec, Arena arena) {
                if (spec.name().equals("lm_head.weight")) {
                    throw new IllegalStateException("no such noise");
                }
                return generated.matrix(spec, arena);
            }

            @Override
            public MemorySegment vector(VectorSpec spec, Arena arena) {
                return generated.vector(spec, arena);
            }

            @Override
            public byte[] digest() {
                return generated.digest();
            }
        };
        assertThatThrownBy(() -> ModelPack.write(model, WeightProfile.W8A8, SCALAR, broken, LoadProgress.SILENT))
                .hasMessage("no such noise");
        assertThat(PackRun.files(model, ".millrace")).isEmpty();
        assertThat(PackRun.files(model, ".tmp")).isEmpty();
    }

    @Test
    void aPlanKnowsEveryWeightOfTheCheckpoint() {
        ModelConfig config = ModelConfig.read(model);
        long elements = ModelPack.plan(config, WeightProfile.CHECKPOINT, MlaForm.ABSORBED)
                .elements();
        // float32 or bfloat16 tensors, so many bytes of data
        try (LoadedModel loaded = LoadedModel.load(
                TestModels.directory("glm5-tiny"),
                PackRun.settings("off", "scalar", WeightProfile.CHECKPOINT),
                LoadProgress.SILENT)) {
            assertThat(loaded.layout().format()).isEqualTo(KvFormat.F32);
            long bytes = loaded.tensorBytes().values().stream()
                    .mapToLong(Long::longValue)
                    .sum();
            assertThat(bytes).isBetween(2 * elements, 4 * elements);
        }
    }
}
