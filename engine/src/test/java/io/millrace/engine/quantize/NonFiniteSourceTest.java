package io.millrace.engine.quantize;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.checkpoint.CheckpointWriter;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.profile.WeightProfile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// Sources with a number that is infinite or none: each is named by its own file, tensor and element.
class NonFiniteSourceTest {
    @TempDir
    private Path folder = Path.of("");

    @ParameterizedTest
    @CsvSource({
        "model.embed_tokens.weight, 100, 7fc0, NaN",
        "model.layers.0.input_layernorm.weight, 3, 7f80, Infinity",
        "model.layers.1.mlp.experts.2.down_proj.weight, 5, ff80, -Infinity",
        "model.layers.1.mlp.experts.0.up_proj.weight, 287, ffc0, NaN",
        "lm_head.weight, 0, 7f80, Infinity"
    })
    void isNamedByFileTensorAndElement(String tensor, long element, String bits, String number) throws IOException {
        CheckpointWriter.write(folder.resolve("source"), OddConfig.JSON, 1, 11);
        put(tensor, element * Short.BYTES, Integer.parseInt(bits, 16), Short.BYTES);
        assertRefused("tensor " + tensor + ": " + number + " at element " + element);
    }

    @Test
    void isFoundInCodesAndScalesOfFp8() throws IOException {
        String json = OddConfig.JSON.replaceFirst(
                "\\{", "{\"quantization_config\":{\"quant_method\":\"fp8\",\"weight_block_size\":[8,8]},");
        CheckpointWriter.write(folder.resolve("source"), json, 1, 11);
        String tensor = "model.layers.0.mlp.gate_proj.weight";
        put(tensor + "_scale_inv", Float.BYTES, 0x7f80_0000, Float.BYTES);
        assertRefused("tensor " + tensor + "_scale_inv: Infinity at element 1");
        put(tensor, 7, 0xff, 1);
        assertRefused("tensor " + tensor + ": NaN at element 7");
    }

    private void assertRefused(String found) throws IOException {
        Path source = folder.resolve("source");
        Path file = source.resolve("model.safetensors");
        ModelQuantizer quantizer = new ModelQuantizer(
                source, folder.resolve("made"), QuantizeSettings.of(WeightProfile.W4A8), QuantizeProgress.SILENT);
        assertThatThrownBy(() -> quantizer.run(QuantizeRun.text(), List.of()))
                .isInstanceOfSatisfying(
                        MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_CHECKPOINT))
                .hasMessage(file + ": " + found + " (expected: finite numbers)");
        try (Stream<Path> left = Files.list(folder)) {
            assertThat(left).containsExactly(source);
        }
    }

    /// Overwrites one number of a tensor.
    private void put(String tensor, long offset, int bits, int bytes) throws IOException {
        Path file = folder.resolve("source").resolve("model.safetensors");
        ByteBuffer content = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
        int header = Math.toIntExact(content.getLong(0));
        JsonNode tensors =
                JsonMapper.shared().readTree(new String(content.array(), Long.BYTES, header, StandardCharsets.UTF_8));
        long start = tensors.get(tensor).get("data_offsets").get(0).asLong();
        int at = Math.toIntExact(Long.BYTES + header + start + offset);
        for (int i = 0; i < bytes; i++) {
            content.put(at + i, (byte) (bits >>> (i * Byte.SIZE)));
        }
        Files.write(file, content.array());
    }
}
