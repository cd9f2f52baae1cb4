package io.millrace.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/// `millrace bench` as a process of its own.
class BenchCommandIT {
    private static final int SIGTERM_EXIT = 128 + 15;
    private static final Path ROOT =
            Path.of(System.getProperty("millrace.root", "..")).toAbsolutePath();

    @TempDir
    private Path folder = Path.of("");

    @Test
    @Timeout(value = 180, unit = TimeUnit.SECONDS)
    void aSignalLeavesNoTemporaryFolder() throws Exception {
        Path temporary = Files.createDirectory(folder.resolve("tmp"));
        Process process = start(temporary);
        try (BufferedReader errors =
                new BufferedReader(new InputStreamReader(process.getErrorStream(), StandardCharsets.UTF_8))) {
            String line = errors.readLine();
            while (line != null && !line.contains(" tokens/s")) {
                line = errors.readLine();
            }
            // The first row is there: the model was made and is in use.
            assertThat(line).isNotNull();
            assertThat(made(temporary)).isNotEmpty();
            process.toHandle().destroy();
            assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).isEqualTo(SIGTERM_EXIT);
            assertThat(made(temporary)).isEmpty();
        } finally {
            process.destroyForcibly();
        }
    }

    private static List<Path> made(Path temporary) throws IOException {
        try (Stream<Path> files = Files.list(temporary)) {
            return files.filter(file -> file.getFileName().toString().startsWith("millrace-bench-"))
                    .toList();
        }
    }

    private static Process start(Path temporary) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + ROOT.resolve("java.args"),
                "-XX:TieredStopAtLevel=1",
                "-Dmillrace.home=" + ROOT,
                "-Djava.io.tmpdir=" + temporary,
                "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                "io.millrace.standalone.MillraceCommand",
                "bench",
                "--synthetic",
                ROOT.resolve("models/mini/config.json").toString(),
                "--prefill",
                "",
                "--decode",
                "1",
                "--depth",
                // More rows than are measured before the signal.
                "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29",
                "--repeats",
                "1");
        builder.environment().remove("JAVA_TOOL_OPTIONS");
        builder.environment().remove("JDK_JAVA_OPTIONS");
        return builder.redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
    }
}
