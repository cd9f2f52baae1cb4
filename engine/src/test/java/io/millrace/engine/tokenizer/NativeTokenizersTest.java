package io.millrace.engine.tokenizer;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.error.MillraceException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NativeTokenizersTest {

    /// Prints the ids of its second argument.
    static final class Tokenize {
        private Tokenize() {}

        public static void main(String[] args) {
            try (Tokenizer tokenizer = Tokenizer.load(Path.of(args[0]))) {
                System.out.println(Arrays.toString(tokenizer.encode(args[1])));
            }
        }
    }

    /// Prints how many tokens as many `a` as its second argument says have.
    static final class TokenizeLongText {
        private TokenizeLongText() {}

        public static void main(String[] args) {
            String text = "a".repeat(Integer.parseInt(args[1]));
            try (Tokenizer tokenizer = Tokenizer.load(Path.of(args[0]))) {
                System.out.println(tokenizer.encode(text).length + " tokens");
            } catch (MillraceException e) {
                System.out.println(e.code() + " " + e.getMessage());
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "-Xmx32m, 500000, a text that fits, 500000 tokens",
        "-Xmx32m, 5000000, one that does not, QUEUE_FULL A text of 5000000 characters finds no memory"
    })
    void outlivesALongTextWithLittleHeap(String heap, String length, String which, String expected) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                heap,
                "-cp",
                System.getProperty("java.class.path"),
                TokenizeLongText.class.getName(),
                MiniModel.directory().toString(),
                length);

        assertThat(run(builder)).as(which).contains(expected);
    }

    @Test
    void loadsWithoutAHomeFolderToWriteToAndLeavesNothingBehind(@TempDir Path folder) throws Exception {
        Path notAFolder = Files.writeString(folder.resolve("home"), "");
        Path temporary = Files.createDirectory(folder.resolve("tmp"));
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-Duser.home=" + notAFolder,
                "-Djava.io.tmpdir=" + temporary,
                "-cp",
                System.getProperty("java.class.path"),
                Tokenize.class.getName(),
                MiniModel.directory().toString(),
                "a<|user|>");
        builder.environment().keySet().removeIf(name -> name.endsWith("_CACHE_DIR"));
        assertThat(run(builder)).contains("[64, 4067]");
        try (var left = Files.list(temporary)) {
            assertThat(left.filter(file -> file.getFileName().toString().startsWith("millrace")))
                    .isEmpty();
        }
    }

    private static String run(ProcessBuilder builder) throws IOException, InterruptedException {
        Process process = builder.redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        return output;
    }
}
