package io.millrace.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
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
    void withoutAGoldenFileThereIsNothingToCompare() {
        CommandRun none = CommandRun.of("", "verify", "--model", folder.toString());
        assertThat(none.exitCode()).isEqualTo(2);
        assertThat(none.errors())
                .contains(folder.resolve("golden.safetensors").toString())
                .hasLineCount(1);
        CommandRun run = verify(folder.resolve("nowhere"));
        assertThat(run.exitCode()).isEqualTo(2);
        assertThat(run.errors()).contains("nowhere").hasLineCount(1);
    }

    private static CommandRun verify(Path golden) {
        return CommandRun.of("", "verify", "--model", MINI.toString(), "--golden", golden.toString());
    }
}
