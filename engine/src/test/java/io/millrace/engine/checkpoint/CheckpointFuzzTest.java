package io.millrace.engine.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/// Damages each file of a tiny checkpoint at random. A damaged checkpoint opens, or fails with the one
/// error; nothing else may happen. The seed of a failing case is in its message; `millrace.fuzz.seed`
/// replays it.
@Timeout(300)
class CheckpointFuzzTest {
    private static final List<String> FILES =
            List.of("model-00001-of-00002.safetensors", "model.safetensors.index.json", "config.json");
    private static final List<String> VALUES = List.of(
            "null",
            "true",
            "-1",
            "0",
            "1e309",
            "9223372036854775807",
            "99999999999999999999999",
            "4194304",
            "\"x\"",
            "[]",
            "{}",
            "[1,2,3]",
            "2147483647",
            "1.5",
            "\"\\ud800\"");

    @TempDir
    Path directory;

    @BeforeEach
    void write() {
        TinyConfig config =
                TinyConfig.glm().with("quantization_config", "{\"quant_method\":\"fp8\",\"weight_block_size\":[8,8]}");
        CheckpointWriter.write(directory, config.json(), 2, 3);
    }

    @Test
    void damagedFilesOpenOrFailCleanly() throws IOException {
        fuzz(50);
    }

    @Test
    @Tag("soak")
    void manyDamagedFilesOpenOrFailCleanly() throws IOException {
        fuzz(2000);
    }

    private void fuzz(int casesPerFile) throws IOException {
        long first = Long.getLong("millrace.fuzz.seed", 1);
        int failures = 0;
        for (String name : FILES) {
            Path file = directory.resolve(name);
            byte[] whole = Files.readAllBytes(file);
            for (long seed = first; seed < first + casesPerFile; seed++) {
                Files.write(file, damage(whole, new SplittableRandom(seed)));
                failures += opens(name, seed) ? 0 : 1;
            }
            Files.write(file, whole);
            assertThat(opens(name, 0)).isTrue();
        }
        assertThat(failures).isGreaterThan(casesPerFile);
    }

    private boolean opens(String name, long seed) {
        try (Checkpoint checkpoint = Checkpoint.open(directory);
                Arena arena = Arena.ofConfined()) {
            checkpoint.matrix("model.layers.0.mlp.up_proj.weight", arena);
            assertThat(checkpoint.weightsDigest()).hasSize(32);
            return true;
        } catch (MillraceException e) {
            assertThat(e.code()).isEqualTo(ErrorCode.INVALID_CHECKPOINT);
            assertThat(e.getMessage())
                    .hasSizeLessThan(2000)
                    .contains("(expected: ")
                    .doesNotContain("\n");
            return false;
        } catch (RuntimeException | Error e) {
            return fail("file " + name + ", seed " + seed, e);
        }
    }

    private static byte[] damage(byte[] whole, SplittableRandom random) {
        // Headers and texts are where the danger is, not the numbers behind them.
        int reach = Math.min(whole.length, 6000);
        return switch (random.nextInt(5)) {
            case 0 -> Arrays.copyOf(whole, random.nextInt(whole.length));
            case 1 -> flip(whole.clone(), reach, random);
            case 2 -> flip(whole.clone(), 12, random);
            case 3 -> splice(whole, reach, random);
            default -> replaceValue(whole, reach, random);
        };
    }

    private static byte[] flip(byte[] bytes, int reach, SplittableRandom random) {
        for (int i = random.nextInt(4); i >= 0; i--) {
            bytes[random.nextInt(reach)] ^= (byte) (1 << random.nextInt(8));
        }
        return bytes;
    }

    private static byte[] splice(byte[] whole, int reach, SplittableRandom random) {
        int from = random.nextInt(reach);
        int length = random.nextInt(Math.min(200, whole.length - from) + 1);
        int to = random.nextInt(reach);
        byte[] result = new byte[whole.length + length];
        System.arraycopy(whole, 0, result, 0, to);
        System.arraycopy(whole, from, result, to, length);
        System.arraycopy(whole, to, result, to + length, whole.length - to);
        return result;
    }

    /// Puts another JSON value after a colon.
    private static byte[] replaceValue(byte[] whole, int reach, SplittableRandom random) {
        String text = new String(whole, StandardCharsets.ISO_8859_1);
        int colon = text.indexOf(':', random.nextInt(reach));
        if (colon < 0) {
            return Arrays.copyOf(whole, whole.length / 2);
        }
        int end = colon + 1;
        while (end < text.length() && ",}\n".indexOf(text.charAt(end)) < 0) {
            end++;
        }
        String value = VALUES.get(random.nextInt(VALUES.size()));
        return (text.substring(0, colon + 1) + value + text.substring(end)).getBytes(StandardCharsets.ISO_8859_1);
    }
}
