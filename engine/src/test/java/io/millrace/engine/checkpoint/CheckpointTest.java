package io.millrace.engine.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.QuantFormat;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CheckpointTest {
    private static final String INDEX = "model.safetensors.index.json";
    private static final String SINGLE = "model.safetensors";
    private static final String QUANTIZED = "{\"quant_method\":\"fp8\",\"fmt\":\"e4m3\",\"weight_block_size\":[8,8]}";

    @TempDir
    Path directory;

    @ParameterizedTest
    @ValueSource(strings = {"glm5-tiny", "glm52-indexshare-tiny", "glm5-fp8-tiny", "deepseek-v32-tiny"})
    void goldenCheckpointsOpen(String name) {
        try (Checkpoint checkpoint = Checkpoint.open(TestCheckpoints.golden(name));
                Arena arena = Arena.ofConfined()) {
            assertThat(checkpoint.config().latentRmsEps()).isEqualTo(1e-6f);
            MatrixView embedding = checkpoint.matrix("model.embed_tokens.weight", arena);
            assertThat(embedding.rows()).isEqualTo(512);
            assertThat(embedding.format()).isEqualTo(QuantFormat.BF16);
            MemorySegment bias = checkpoint.vector("model.layers.1.mlp.gate.e_score_correction_bias", arena);
            assertThat(bias.byteSize())
                    .isEqualTo(4L * checkpoint.config().gating().experts());
            assertThat(bias.address() % 64).isZero();
        }
    }

    @Test
    void miniModelOpensWithItsMtpLayer() {
        try (Checkpoint checkpoint = Checkpoint.open(TestCheckpoints.mini());
                Arena arena = Arena.ofConfined()) {
            assertThat(checkpoint.config().mtpLayers()).isEqualTo(1);
            MatrixView join = checkpoint.matrix("model.layers.6.eh_proj.weight", arena);
            assertThat(List.of(join.rows(), join.columns())).containsExactly(256, 512);
            assertThat(checkpoint.has("model.layers.6.embed_tokens.weight")).isFalse();
        }
        GenerationDefaults defaults = GenerationDefaults.read(TestCheckpoints.mini());
        assertThat(defaults.topP()).hasValue(0.95);
        assertThat(defaults.eosTokenIds()).containsExactly(4060, 4067, 4069);
    }

    @Test
    void shardedModelsHaveTheDigestAndTensorsOfSingleFiles() {
        TinyConfig config = TinyConfig.deepseek().with("quantization_config", QUANTIZED);
        Path one = directory.resolve("one");
        Path many = directory.resolve("many");
        CheckpointWriter.write(one, config.json(), 1, 5);
        CheckpointWriter.write(many, config.json(), 3, 5);
        try (Checkpoint single = Checkpoint.open(one);
                Checkpoint sharded = Checkpoint.open(many);
                Arena arena = Arena.ofConfined()) {
            assertThat(sharded.weightsDigest())
                    .isEqualTo(single.weightsDigest())
                    .hasSize(32);
            String name = "model.layers.2.mlp.experts.3.down_proj.weight";
            MatrixView a = single.matrix(name, arena);
            MatrixView b = sharded.matrix(name, arena);
            assertThat(a.format()).isEqualTo(QuantFormat.F32);
            assertThat(a.data().mismatch(b.data())).isEqualTo(-1);
            assertThat(single.has("model.layers.3.shared_head.head.weight")).isTrue();
        }
    }

    @Test
    void digestChangesWithEveryByteThatCounts() throws IOException {
        write(TinyConfig.glm(), 1);
        byte[] before = digest();
        assertThat(digest()).isEqualTo(before);
        Path file = directory.resolve(SINGLE);
        byte[] bytes = Files.readAllBytes(file);
        bytes[bytes.length - 1] ^= 1;
        Files.write(file, bytes);
        byte[] after = digest();
        assertThat(after).isNotEqualTo(before);
        Files.writeString(directory.resolve("config.json"), TinyConfig.glm().json() + "\n");
        assertThat(digest()).isNotEqualTo(after);
    }

    @Test
    void fp8WeightsAreMultipliedByTheScaleOfTheirBlock() {
        write(TinyConfig.glm().with("quantization_config", QUANTIZED), 1);
        String name = "model.layers.1.self_attn.kv_b_proj.weight"; // [18, 6]: blocks of 8, 8 and 2 rows
        try (Checkpoint checkpoint = Checkpoint.open(directory);
                SafetensorsFile file = SafetensorsFile.open(directory.resolve(SINGLE));
                Arena arena = Arena.ofConfined()) {
            MatrixView matrix = checkpoint.matrix(name, arena);
            MemorySegment codes = file.data(name);
            MemorySegment scales = file.data(name + "_scale_inv");
            assertThat(file.tensors().get(name + "_scale_inv"))
                    .extracting(TensorInfo::shape)
                    .isEqualTo(List.of(3L, 1L));
            for (int row = 0; row < 18; row++) {
                for (int column = 0; column < 6; column++) {
                    float code = Widening.e4m3(codes.get(ValueLayout.JAVA_BYTE, row * 6 + column) & 0xff);
                    float scale = scales.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, row / 8);
                    assertThat(matrix.data().getAtIndex(ValueLayout.JAVA_FLOAT, row * 6 + column))
                            .isEqualTo(code * scale);
                }
            }
        }
    }

    @Test
    void unalignedAndHalfPrecisionTensorsAreCopied() throws IOException {
        write(TinyConfig.glm(), 1);
        SafetensorsWriter writer = copyOf(SINGLE);
        byte[] halves = new byte[32 * 16 * 2];
        halves[3] = 0x3c; // element 1 = 1.0
        writer.put("model.embed_tokens.weight", TensorType.F16, List.of(32L, 16L), halves);
        Files.write(directory.resolve(SINGLE), writer.bytes(1));
        try (Checkpoint checkpoint = Checkpoint.open(directory);
                Arena arena = Arena.ofConfined()) {
            MatrixView embedding = checkpoint.matrix("model.embed_tokens.weight", arena);
            assertThat(embedding.format()).isEqualTo(QuantFormat.F32);
            assertThat(embedding.data().getAtIndex(ValueLayout.JAVA_FLOAT, 1)).isEqualTo(1f);
            MatrixView head = checkpoint.matrix("lm_head.weight", arena);
            assertThat(head.format()).isEqualTo(QuantFormat.BF16);
            assertThat(head.data().address() % 2).isZero();
            assertThatThrownBy(() -> checkpoint.matrix("model.norm.weight", arena))
                    .hasMessageContaining("a matrix");
            assertThatThrownBy(() -> checkpoint.vector("nothing", arena)).hasMessageContaining("nothing");
        }
    }

    @Test
    void tiedHeadIsTheEmbedding() throws IOException {
        TinyConfig tied = TinyConfig.glm().with("tie_word_embeddings", "true");
        write(tied, 1);
        try (Checkpoint checkpoint = Checkpoint.open(directory);
                Arena arena = Arena.ofConfined()) {
            assertThat(checkpoint.has("lm_head.weight")).isFalse();
            MemorySegment embedding =
                    checkpoint.matrix("model.embed_tokens.weight", arena).data();
            assertThat(checkpoint.matrix("lm_head.weight", arena).data().address())
                    .isEqualTo(embedding.address());
        }
        change(w -> w.put("lm_head.weight", TensorType.BF16, List.of(32L, 16L), new byte[32 * 16 * 2]));
        assertInvalid("lm_head.weight differs from model.embed_tokens.weight");
    }

    @Test
    void mtpLayerMustBeWholeOrAbsent() {
        write(TinyConfig.glm(), 1);
        change(w -> w.remove("model.layers.3.hnorm.weight"));
        assertInvalid("tensor model.layers.3.hnorm.weight is missing");
        write(TinyConfig.glm(), 1);
        replaceConfig(TinyConfig.glm().with("num_nextn_predict_layers", "0"));
        Checkpoint.open(directory).close();
        change(w -> w.remove("model.layers.3.eh_proj.weight"));
        assertInvalid("no tensor of layer 3 where num_nextn_predict_layers is 0, or a whole MTP layer");
    }

    @Test
    void tensorsThatDoNotFitFailByName() {
        write(TinyConfig.glm(), 1);
        change(w -> w.remove("model.norm.weight"));
        assertInvalid("tensor model.norm.weight is missing (expected: shape [16])");
        write(TinyConfig.glm(), 1);
        change(w -> w.putFloats("model.norm.weight", List.of(2L), 1, 2));
        assertInvalid("model.safetensors: tensor model.norm.weight: shape [2] (expected: [16])");
        write(TinyConfig.glm(), 1);
        change(w -> w.putFloats("model.extra", List.of(1L), 1));
        assertInvalid("tensor model.extra: unknown");
        write(TinyConfig.glm(), 1);
        change(w -> w.put("model.norm.weight", TensorType.I32, List.of(16L), new byte[64]));
        assertInvalid("tensor model.norm.weight: dtype I32 (expected: BF16, F16 or F32)");
        write(TinyConfig.glm(), 1);
        change(w -> w.put(
                "model.layers.0.self_attn.q_a_proj.weight", TensorType.F8_E4M3, List.of(10L, 16L), new byte[160]));
        assertInvalid(
                "q_a_proj.weight: dtype F8_E4M3 (expected: a quantization_config in config.json, or another dtype)");
        write(TinyConfig.glm().with("quantization_config", QUANTIZED), 1);
        change(w -> w.remove("model.layers.0.self_attn.q_a_proj.weight_scale_inv"));
        assertInvalid("q_a_proj.weight_scale_inv is missing (expected: shape [2, 2])");
    }

    @Test
    void hugeConfigurationsFailAtTheFirstMissingTensor() {
        write(TinyConfig.glm(), 1);
        replaceConfig(TinyConfig.glm().with("num_hidden_layers", "1024").with("n_routed_experts", "4096"));
        assertInvalid("model.layers.1.mlp.gate.weight: shape [4, 16] (expected: [4096, 16])");
    }

    @Test
    void indexAndShardsMustAgree() throws IOException {
        write(TinyConfig.glm(), 2);
        String index = Files.readString(directory.resolve(INDEX));
        String first = "model-00001-of-00002.safetensors";
        String second = "model-00002-of-00002.safetensors";
        String moved = index.replace("\"model.norm.weight\":\"" + second, "\"model.norm.weight\":\"" + first);
        assertThat(moved).isNotEqualTo(index);
        assertIndexInvalid(moved, "tensor model.norm.weight is not in " + first);
        assertIndexInvalid(
                index.replace("\"model.norm.weight\":\"" + second + "\",", ""),
                "tensor model.norm.weight of " + second + " is not listed");
        assertIndexInvalid(index.replace(second, "model-00003.safetensors"), "model-00003.safetensors: no such file");
        assertIndexInvalid("{\"weight_map\":{\"a\":1}}", "weight_map.a: 1");
        assertIndexInvalid("{\"weight_map\":[]}", "weight_map: a list");
        assertIndexInvalid("{}", "weight_map: no value");
        Files.writeString(directory.resolve(INDEX), index);
        Files.write(directory.resolve(second), new byte[0]);
        assertInvalid(second + ": 0 bytes");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "../x.safetensors",
                "/etc/passwd",
                "..",
                "a/b.safetensors",
                "",
                ".hidden",
                "a\\\\b",
                "C:x",
                "a\\u0000b"
            })
    void shardNamesCannotLeaveTheFolder(String name) throws IOException {
        write(TinyConfig.glm(), 2);
        assertIndexInvalid("{\"weight_map\":{\"a\":\"" + name + "\"}}", "a plain file name in this folder");
    }

    @Test
    void linksThatSomebodyPutIntoTheFolderAreFollowed() throws IOException {
        Path snapshot = directory.resolve("models--x/snapshots/abc");
        Path blobs = Files.createDirectories(directory.resolve("models--x/blobs"));
        CheckpointWriter.write(snapshot, TinyConfig.glm().json(), 1, 1);
        Files.move(snapshot.resolve(SINGLE), blobs.resolve("0123"));
        Files.createSymbolicLink(snapshot.resolve(SINGLE), Path.of("../../blobs/0123"));
        Checkpoint.open(snapshot).close();

        Path elsewhere = directory.resolve("another disk");
        CheckpointWriter.write(elsewhere, TinyConfig.glm().json(), 3, 1);
        Path linked = Files.createDirectory(directory.resolve("linked"));
        try (Stream<Path> files = Files.list(elsewhere)) {
            for (Path file : files.toList()) {
                Files.createSymbolicLink(linked.resolve(file.getFileName()), file.toAbsolutePath());
            }
        }
        try (Checkpoint straight = Checkpoint.open(elsewhere);
                Checkpoint byLinks = Checkpoint.open(linked)) {
            assertThat(byLinks.weightsDigest()).isEqualTo(straight.weightsDigest());
        }
    }

    @Test
    void linksToNowhereAndFoldersAreToldAsSuch() throws IOException {
        write(TinyConfig.glm(), 1);
        Files.delete(directory.resolve(SINGLE));
        Files.createSymbolicLink(directory.resolve(SINGLE), Path.of("gone"));
        assertThatThrownBy(() -> Checkpoint.open(directory))
                .hasMessageContaining(SINGLE + ": links to gone, which is not there (expected: a readable file)");
        Files.delete(directory.resolve(SINGLE));
        Files.createDirectory(directory.resolve(SINGLE));
        assertThatThrownBy(() -> Checkpoint.open(directory)).hasMessageContaining("not a regular file");
    }

    private void write(TinyConfig config, int shards) {
        CheckpointWriter.write(directory, config.json(), shards, 1);
    }

    private void replaceConfig(TinyConfig config) {
        try {
            Files.writeString(directory.resolve("config.json"), config.json());
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private byte[] digest() {
        try (Checkpoint checkpoint = Checkpoint.open(directory)) {
            return checkpoint.weightsDigest();
        }
    }

    private SafetensorsWriter copyOf(String name) {
        SafetensorsWriter copy = new SafetensorsWriter();
        try (SafetensorsFile file = SafetensorsFile.open(directory.resolve(name))) {
            file.tensors()
                    .forEach((tensor, info) -> copy.put(
                            tensor, info.type(), info.shape(), file.data(tensor).toArray(ValueLayout.JAVA_BYTE)));
        }
        return copy;
    }

    private void change(Consumer<SafetensorsWriter> change) {
        SafetensorsWriter writer = copyOf(SINGLE);
        change.accept(writer);
        writer.write(directory.resolve(SINGLE));
    }

    private void assertIndexInvalid(String index, String fragment) throws IOException {
        Files.writeString(directory.resolve(INDEX), index);
        assertInvalid(fragment);
    }

    private void assertInvalid(String fragment) {
        assertThatThrownBy(() -> Checkpoint.open(directory).close())
                .isInstanceOfSatisfying(
                        MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_CHECKPOINT))
                .hasMessageContaining(fragment);
    }
}
