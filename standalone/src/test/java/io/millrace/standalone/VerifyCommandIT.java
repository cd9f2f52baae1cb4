package io.millrace.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/// `millrace verify` with the embedded model's golden file.
class VerifyCommandIT {
    private static final Path MINI = Path.of(System.getProperty("millrace.root", ".."), "models", "mini");

    @TempDir
    private Path folder = Path.of("");

    @Test
    void theEmbeddedModelIsWithinTolerance() {
        CommandRun run = verify(MINI.resolve("golden.safetensors"));
        assertThat(run.exitCode()).as(run.errors()).isZero();
        assertThat(run.answers())
                .contains("weights: in floating point")
                .anyMatch(line -> line.startsWith("max |Δlogit|: "))
                .anyMatch(line -> line.startsWith("differing selections: 0 of "))
                .anyMatch(line -> line.startsWith("max |Δlogprob|: "))
                .last()
                .isEqualTo("result: within tolerance");
    }

    @Test
    void oneWrongLogitIsBeyondTolerance() throws IOException {
        byte[] bytes = Files.readAllBytes(MINI.resolve("golden.safetensors"));
        ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        int headerBytes = (int) buffer.getLong(0);
        JsonNode header =
                JsonMapper.shared().readTree(new String(bytes, Long.BYTES, headerBytes, StandardCharsets.UTF_8));
        int first = Long.BYTES
                + headerBytes
                + header.path("logits").path("data_offsets").path(0).asInt();
        buffer.putFloat(first, buffer.getFloat(first) + 0.01f);
        CommandRun run = verify(Files.write(folder.resolve("wrong.safetensors"), bytes));
        assertThat(run.exitCode()).isEqualTo(1);
        assertThat(run.answers()).last().isEqualTo("result: BEYOND TOLERANCE");
    }

    @Test
    void aQuantisedFolderIsSaidToBeOneAndItsToleranceToBeThatOfFloats() throws IOException {
        Path text = Files.writeString(folder.resolve("text.txt"), "int sum = a + b;\n");
        Path made = folder.resolve("made");
        CommandRun quantized = CommandRun.of(
                "",
                "quantize",
                "--model",
                MINI.toString(),
                "--out",
                made.toString(),
                "--profile",
                "w4a8",
                "--calibration",
                text.toString(),
                "--no-scale-search");
        assertThat(quantized.exitCode()).as(quantized.errors()).isZero();

        CommandRun run = CommandRun.of(
                "",
                "verify",
                "--model",
                made.toString(),
                "--golden",
                MINI.resolve("golden.safetensors").toString());

        assertThat(run.exitCode()).as(run.errors()).isEqualTo(1);
        assertThat(run.answers())
                .contains("weights: quantised, w4a8, rotated")
                .contains("max |Δhidden|: not compared, as the residual stream is rotated")
                .anyMatch(line -> line.matches("max \\|Δlogit\\|: .* \\(tolerance 2e-04\\)"))
                .contains("note: the tolerances are those of weights in floating point, which quantised ones cannot"
                        + " meet; what quantising cost is in quantize-report.txt where `millrace quantize` made the"
                        + " folder")
                .last()
                .isEqualTo("result: BEYOND TOLERANCE of weights in floating point, as quantised ones (w4a8) are");
    }

    @Test
    void aGoldenFileThatIsNotThereIsOneSentence() {
        assertFails(
                CommandRun.of("", "verify", "--model", folder.toString()),
                folder
                        + "/golden.safetensors: no such file (expected: reference values beside the model, or"
                        + " elsewhere with --golden FILE)");
        assertFails(verify(folder.resolve("nowhere")), "nowhere: no such file (expected: a readable file)");
    }

    @Test
    void aGoldenFileOfAnotherKindIsOneSentence() throws IOException {
        assertFails(verify(MINI.resolve("config.json")), "config.json");
        assertFails(verify(tensors("input_ids", "F32")), "tensor input_ids: F32 [1] (expected: I32 [n], n at least 1)");
        assertFails(verify(tensors("logits", "I32")), "no tensor input_ids");
        Path foreign = tensors("input_ids", "I32");
        assertFails(verify(foreign), "tensor input_ids: id 2147483647 (expected: 0..4095)");
    }

    @Test
    void aModelThatIsDamagedIsOneSentence() throws IOException {
        for (String name : List.of("config.json", "tokenizer.json", "golden.safetensors")) {
            Files.copy(MINI.resolve(name), folder.resolve(name));
        }
        Files.write(folder.resolve("model.safetensors"), new byte[100]);
        assertFails(CommandRun.of("", "verify", "--model", folder.toString()), "model.safetensors");
        Files.writeString(folder.resolve("config.json"), "{");
        assertFails(CommandRun.of("", "verify", "--model", folder.toString()), "config.json");
    }

    @Test
    void optionsNobodyUnderstandsStayUsageErrors() {
        CommandRun run = CommandRun.of("", "verify", "--model", MINI.toString(), "--provider", "abacus");
        assertThat(run.exitCode()).isEqualTo(2);
        assertThat(run.errors()).contains("abacus").hasLineCount(1);
    }

    /// A file of one tensor with one element, 2147483647 as an integer.
    private Path tensors(String name, String type) throws IOException {
        String header = "{\"%s\":{\"dtype\":\"%s\",\"shape\":[1],\"data_offsets\":[0,4]}}".formatted(name, type);
        byte[] text = header.getBytes(StandardCharsets.UTF_8);
        ByteBuffer file = ByteBuffer.allocate(Long.BYTES + text.length + Integer.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(text.length)
                .put(text)
                .putInt(Integer.MAX_VALUE);
        return Files.write(folder.resolve(name + type + ".safetensors"), file.array());
    }

    private static void assertFails(CommandRun run, String said) {
        assertThat(run.exitCode()).as(run.errors()).isEqualTo(1);
        assertThat(run.answers()).isEmpty();
        assertThat(run.errors())
                .startsWith("millrace: ")
                .contains(said)
                .doesNotContain("TensorInfo")
                .hasLineCount(1);
    }

    private static CommandRun verify(Path golden) {
        return CommandRun.of("", "verify", "--model", MINI.toString(), "--golden", golden.toString());
    }
}
