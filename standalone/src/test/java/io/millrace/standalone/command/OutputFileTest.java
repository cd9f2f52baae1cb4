package io.millrace.standalone.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OutputFileTest {
    @TempDir
    private Path folder = Path.of("");

    @Test
    void whatIsThereStaysAndNothingIsLeftWhereNothingWas() throws IOException {
        Path old = Files.writeString(folder.resolve("old.json"), "[1]");
        Path fresh = folder.resolve("fresh.json");
        Path link = Files.createSymbolicLink(folder.resolve("link.json"), folder.resolve("linked.json"));

        for (Path file : new Path[] {old, fresh, link}) {
            new OutputFile("--json", file).require();
        }

        assertThat(old).hasContent("[1]");
        assertThat(fresh).doesNotExist();
        assertThat(folder.resolve("linked.json")).doesNotExist();
        assertThat(link).isSymbolicLink();
    }

    @Test
    void aFileWithoutAPlaceIsRefused() {
        for (Path file : new Path[] {folder, folder.resolve("no/rows.json")}) {
            assertThatThrownBy(() -> new OutputFile("--json", file).require())
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("--json: " + file + " (expected: a file in a folder that exists)");
        }
    }

    /// Files of the kernel are not writable for anybody, whoever runs this.
    @Test
    void aFileThatCannotBeWrittenIsRefused() {
        assumeTrue(Files.isDirectory(Path.of("/proc/self")), "there is a folder that nobody can write to");
        Path file = Path.of("/proc/rows.json");
        assertThatThrownBy(() -> new OutputFile("--svg", file).require())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("--svg: " + file + ": ")
                .hasMessageEndingWith(" (expected: a file that can be written)");
    }

    @Test
    void devicesAreTakenWithoutOpeningThem() {
        Path device = Path.of("/dev/null");
        assumeTrue(Files.exists(device), "there is a device that takes everything");
        new OutputFile("--json", device).require();
    }

    @Test
    void aFailureWhileWritingNamesTheFile() {
        Path full = Path.of("/dev/full");
        assumeTrue(Files.exists(full), "there is a device that is full");
        assertThatThrownBy(() -> new OutputFile("--json", full).write("[]"))
                .isInstanceOf(IOException.class)
                .hasMessage("/dev/full: No space left on device");
    }
}
