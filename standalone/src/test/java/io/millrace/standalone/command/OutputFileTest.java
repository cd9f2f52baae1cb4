package io.millrace.standalone.command;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// A file that cannot be written whole, as on a full disk: here a process may write no file beyond 1 KiB.
class OutputFileTest {
    private static final String TEXT = "x".repeat(4096);

    @TempDir
    private Path folder = Path.of("");

    @Test
    void nothingIsLeftWhereNothingWas() throws IOException, InterruptedException {
        Path file = folder.resolve("rows.json");
        assertThat(writeLimited(file)).startsWith(file + ": ");
        assertThat(file).doesNotExist();
    }

    @Test
    void aFileThatWasThereStaysInItsPlace() throws IOException, InterruptedException {
        Path file = Files.writeString(folder.resolve("rows.json"), "[]");
        assertThat(writeLimited(file)).startsWith(file + ": ");
        assertThat(file).exists();
    }

    /// What the process that wrote it says.
    private static String writeLimited(Path file) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(
                        "bash",
                        "-c",
                        "ulimit -f 1 && exec \"$0\" \"$@\"",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:-UsePerfData",
                        "-cp",
                        System.getProperty("java.class.path"),
                        OutputFileTest.class.getName(),
                        file.toString())
                .redirectErrorStream(true)
                .start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(said).isZero();
        return said;
    }

    public static void main(String[] args) {
        try {
            new OutputFile("--json", Path.of(args[0])).write(TEXT);
            System.out.println("written");
        } catch (IOException e) {
            System.out.println(e.getMessage());
        }
    }
}
