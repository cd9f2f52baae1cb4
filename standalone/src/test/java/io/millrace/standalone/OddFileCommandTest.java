package io.millrace.standalone;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// A named pipe given where a command reads a file: said in a sentence, not waited for.
class OddFileCommandTest {
    private static final Path MINI = Path.of(System.getProperty("millrace.root", ".."), "models", "mini");

    @TempDir
    private Path folder = Path.of("");

    @Test
    void aNamedPipeIsNotWaitedFor() throws IOException, InterruptedException {
        String pipe = folder.resolve("pipe").toString();
        assertThat(new ProcessBuilder("mkfifo", pipe).start().waitFor()).isZero();
        String out = folder.resolve("out").toString();
        String mini = MINI.toString();
        for (List<String> command : List.of(
                List.of("verify", "--model", mini, "--golden", pipe),
                List.of("synthesize", "--config", pipe, "--out", out, "--profile", "bf16", "--tokenizer", mini),
                List.of("bench", "--synthetic", pipe),
                List.of("quantize", "--model", mini, "--out", out, "--profile", "w8a8", "--calibration", pipe))) {
            CommandRun run = assertTimeoutPreemptively(
                    Duration.ofSeconds(30), () -> CommandRun.of("", command.toArray(String[]::new)));
            assertThat(run.exitCode()).as(run.errors()).isEqualTo(1);
            assertThat(run.errors())
                    .contains(pipe)
                    .contains("not a regular file")
                    .hasLineCount(1);
        }
    }
}
