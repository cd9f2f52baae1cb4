package io.millrace.engine.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.quantize.ModelQuantizer;
import io.millrace.engine.quantize.QuantizeProgress;
import io.millrace.engine.quantize.QuantizeSettings;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.QuantizedMatrix;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// Checkpoints with integer weights: what is read is what was written, and what is not sound is refused.
class IntegerCheckpointTest {
    private static final String HEAD = "lm_head.weight";
    private static final String EXPERT = "model.layers.1.mlp.experts.0.gate_proj.weight";

    @TempDir
    private Path folder = Path.of("");

    private Path sound = Path.of("");
    private final Map<String, byte[]> original = new LinkedHashMap<>();
    private final Map<String, TensorInfo> infos = new LinkedHashMap<>();

    @BeforeEach
    void quantise() throws IOException {
        Path source = folder.resolve("source");
        CheckpointWriter.write(source, TinyConfig.glm().json(), 1, 3);
        sound = folder.resolve("sound");
        new ModelQuantizer(source, sound, QuantizeSettings.of(WeightProfile.W4A8), QuantizeProgress.SILENT)
                .run(List.of(), List.of());
    }

    @Test
    void yieldsIntegersWhereTheyAreAndFloatsElsewhere() {
        try (Checkpoint checkpoint = Checkpoint.open(sound);
                Arena arena = Arena.ofConfined()) {
            assertThat(checkpoint.config().integers()).hasValue(new IntegerScheme(true, 32));
            assertThat(checkpoint.weight(HEAD, arena)).isInstanceOfSatisfying(QuantizedMatrix.class, head -> {
                assertThat(head.format()).isEqualTo(QuantFormat.W8A8);
                assertThat(head.rows()).isEqualTo(32);
                assertThat(head.columns()).isEqualTo(16);
            });
            assertThat(checkpoint.weight(EXPERT, arena)).isInstanceOfSatisfying(QuantizedMatrix.class, expert -> {
                assertThat(expert.format()).isEqualTo(QuantFormat.W4A8);
                assertThat(expert.group()).isEqualTo(32);
                assertThat(expert.rows()).isEqualTo(12);
                byte[] codes = expert.codes().toArray(ValueLayout.JAVA_BYTE);
                assertThat(codes).hasSize(12 * 16);
                for (byte code : codes) {
                    assertThat(code).isBetween((byte) -8, (byte) 7);
                }
            });
            assertThat(checkpoint
                            .weight("model.layers.1.mlp.gate.weight", arena)
                            .format())
                    .isEqualTo(QuantFormat.F32);
            assertThat(checkpoint.weight("model.embed_tokens.weight", arena).format())
                    .isEqualTo(QuantFormat.BF16);
        }
    }

    @Test
    void twoDigestsOfTheSameWeightsAreEqual() throws IOException {
        Path again = folder.resolve("again");
        new ModelQuantizer(
                        folder.resolve("source"),
                        again,
                        QuantizeSettings.of(WeightProfile.W4A8).withShards(2000),
                        QuantizeProgress.SILENT)
                .run(List.of(), List.of());
        assertThat(again.resolve("model.safetensors.index.json")).exists();
        try (Checkpoint one = Checkpoint.open(sound);
                Checkpoint two = Checkpoint.open(again)) {
            assertThat(two.weightsDigest()).isEqualTo(one.weightsDigest());
        }
    }

    @Test
    void scalesOfAWrongShapeTypeOrValueAreRefused() {
        assertRefused(
                w -> w.put(HEAD + "_scale", TensorType.F32, List.of(32L), new byte[128]),
                "tensor lm_head.weight_scale: shape [32] (expected: [32, 1])");
        assertRefused(w -> w.remove(HEAD + "_scale"), "tensor lm_head.weight_scale is missing");
        assertRefused(
                w -> w.put(HEAD + "_scale", TensorType.I32, List.of(32L, 1L), new byte[128]),
                "dtype I32 (expected: BF16, F16 or F32)");
        assertRefused(
                w -> w.put(EXPERT + "_scale", TensorType.F16, List.of(12L, 1L), new byte[24]),
                "dtype F16 (expected: BF16)");
        float[] scales = new float[32];
        scales[5] = Float.NaN;
        assertRefusedOnReading(
                w -> w.putFloats(HEAD + "_scale", List.of(32L, 1L), scales),
                HEAD,
                "tensor lm_head.weight_scale: scale NaN at element 5 (expected: finite scales of 0 or more)");
        scales[5] = -1;
        assertRefusedOnReading(w -> w.putFloats(HEAD + "_scale", List.of(32L, 1L), scales), HEAD, "scale -1.0");
    }

    @Test
    void codesOfAWrongShapeTypeOrValueAreRefused() {
        assertRefused(
                w -> w.put(EXPERT + "_packed", TensorType.I32, List.of(12L, 3L), new byte[144]),
                "_packed: shape [12, 3] (expected: [12, 2])");
        assertRefused(
                w -> w.put(EXPERT + "_packed", TensorType.U32, List.of(12L, 2L), new byte[96]),
                "dtype U32 (expected: I32)");
        assertRefused(w -> w.put(EXPERT + "_shape", TensorType.I64, List.of(2L), new byte[16]), "I64 [0, 0]");
        assertRefused(w -> w.put(EXPERT + "_shape", TensorType.F64, List.of(2L), new byte[16]), "F64 []");
        assertRefused(w -> w.put(HEAD, TensorType.U8, List.of(32L, 16L), new byte[512]), "dtype U8");
        byte[] codes = new byte[512];
        codes[7] = -128;
        assertRefusedOnReading(
                w -> w.put(HEAD, TensorType.I8, List.of(32L, 16L), codes),
                HEAD,
                "tensor lm_head.weight: code -128 at element 7 (expected: codes in -127..127)");
    }

    @Test
    void int8MatricesTooWideForTheirSumsAreRefused() throws IOException {
        int width = QuantizedMatrix.MAX_INT8_INPUTS + 8;
        Path source = folder.resolve("wide-source");
        CheckpointWriter.write(
                source,
                TinyConfig.glm()
                        .with("intermediate_size", Integer.toString(width))
                        .json(),
                1,
                3);
        assertThatThrownBy(() -> new ModelQuantizer(
                                source,
                                folder.resolve("wide"),
                                QuantizeSettings.of(WeightProfile.W8A8),
                                QuantizeProgress.SILENT)
                        .run(List.of(), List.of()))
                .isInstanceOf(MillraceException.class)
                .hasMessage("tensor model.layers.0.mlp.down_proj.weight: 131080 inputs in profile w8a8 (expected: at"
                        + " most 131072 in int8, whose sums fit 32 bits; profile bf16 has no such limit)");
    }

    @Test
    void integersWhereNoneBelongAreRefused() {
        assertRefused(
                w -> w.put("model.layers.1.mlp.gate.weight", TensorType.I8, List.of(4L, 16L), new byte[64]),
                "model.layers.1.mlp.gate.weight: dtype I8 (expected: BF16, F16 or F32");
        assertRefused(
                w -> w.put("model.embed_tokens.weight", TensorType.I8, List.of(32L, 16L), new byte[512]), "dtype I8");
        assertRefused(
                w -> w.put("lm_head.weight_packed", TensorType.I32, List.of(32L, 2L), new byte[256]),
                "int4 is for routed experts");
        assertRefused(w -> w.put(EXPERT, TensorType.I8, List.of(12L, 16L), new byte[192]), "unknown");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "\"num_bits\" : 8                | \"num_bits\" : 7               | num_bits: 7",
                "\"symmetric\" : true            | \"symmetric\" : false          | symmetric: false",
                "\"strategy\" : \"channel\"      | \"strategy\" : \"tensor\"      | strategy: tensor",
                "\"strategy\" : \"token\"        | \"strategy\" : \"tensor\"      | strategy: tensor",
                "\"group_size\" : 32             | \"group_size\" : 48            | group_size: 48",
                "\"format\" : \"int-quantized\"  | \"format\" : \"float-quantized\" | float-quantized",
                "\"quantization_status\" : \"compressed\" | \"quantization_status\" : \"frozen\" | frozen",
                "\"residual_block\" : 16         | \"residual_block\" : 12        | residual_block: 12",
                "\"residual_block\" : 16         | \"residual_block\" : 32        | residual_block: 32",
                "\"version\" : 1                 | \"version\" : 2                | version: 2",
                "\"seed\" : 1                    | \"seed\" : 1, \"more\" : 1     | millrace_rotation.more: unknown",
                "\"type\" : \"int\"              | \"type\" : \"float\"           | type: float",
                "\"kv_cache_scheme\" : null      | \"kv_cache_scheme\" : {\"a\" : 1} | kv_cache_scheme",
            })
    void configurationsThatMeanSomethingElseAreRefused(String old, String changed, String message) throws IOException {
        Path config = sound.resolve("config.json");
        String json = Files.readString(config);
        assertThat(json).contains(old);
        Files.writeString(config, json.replaceFirst(Pattern.quote(old), changed));
        assertThatThrownBy(() -> Checkpoint.open(sound).close())
                .isInstanceOf(MillraceException.class)
                .hasMessageContaining("config.json")
                .hasMessageContaining(message)
                .hasMessageContaining("expected:");
    }

    private void assertRefused(Consumer<SafetensorsWriter> change, String message) {
        rewrite(change);
        assertThatThrownBy(() -> Checkpoint.open(sound).close())
                .isInstanceOf(MillraceException.class)
                .hasMessageContaining(message);
        rewrite(w -> {});
    }

    private void assertRefusedOnReading(Consumer<SafetensorsWriter> change, String name, String message) {
        rewrite(change);
        try (Checkpoint checkpoint = Checkpoint.open(sound);
                Arena arena = Arena.ofConfined()) {
            assertThatThrownBy(() -> checkpoint.weight(name, arena))
                    .isInstanceOf(MillraceException.class)
                    .hasMessageContaining("model.safetensors")
                    .hasMessageContaining(message);
        }
        rewrite(w -> {});
    }

    /// Writes the sound tensors with a change.
    private void rewrite(Consumer<SafetensorsWriter> change) {
        Path file = sound.resolve("model.safetensors");
        if (original.isEmpty()) {
            try (SafetensorsFile tensors = SafetensorsFile.open(file)) {
                infos.putAll(tensors.tensors());
                infos.keySet().forEach(n -> original.put(n, tensors.data(n).toArray(ValueLayout.JAVA_BYTE)));
            }
        }
        SafetensorsWriter writer = new SafetensorsWriter();
        infos.forEach((name, info) ->
                writer.put(name, info.type(), info.shape(), Objects.requireNonNull(original.get(name))));
        change.accept(writer);
        writer.write(file);
    }
}
