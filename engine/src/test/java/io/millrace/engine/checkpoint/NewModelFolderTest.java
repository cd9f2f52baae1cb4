package io.millrace.engine.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.file.FileFault;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NewModelFolderTest {
    @TempDir
    private Path folder = Path.of("");

    @Test
    void hiddenFoldersAreAsOpenAsOthers() throws IOException {
        Path plain = Files.createDirectory(folder.resolve("plain"));
        Path hidden = new NewModelFolder(folder.resolve("above/made")).createHidden();
        assertThat(Files.getPosixFilePermissions(hidden)).isEqualTo(Files.getPosixFilePermissions(plain));
        assertThat(hidden.getParent()).isEqualTo(folder.resolve("above"));
        assertThat(hidden.getFileName().toString()).matches("\\.made\\.unfinished-\\d+");
    }

    @Test
    void aFullDiskIsToldWithThePlaceAndTheSpaceThatIsThere() {
        NewModelFolder place = new NewModelFolder(folder.resolve("made"));
        String hidden = folder.resolve(".made.unfinished-1/model.safetensors").toString();
        for (IOException full : new IOException[] {
            new IOException("No space left on device"), new FileSystemException(hidden, null, "No space left on device")
        }) {
            assertThat(place.explained(full, 7_000))
                    .hasMessageMatching(Pattern.quote(place.path() + ": No space left on device: ")
                            + "\\d+ bytes are free there \\(expected: 7000 for the whole model\\)")
                    .hasCause(full);
            assertThat(place.explained(full, 0)).hasMessageEndingWith("(expected: room for the whole model)");
        }
        IOException other = new IOException("Input/output error");
        assertThat(place.explained(other, 7_000)).isSameAs(other);
    }

    @Test
    void tooLittleSpaceIsToldBeforeAnyWork() {
        NewModelFolder place = new NewModelFolder(folder.resolve("above/made"));
        place.requireSpace(1);
        assertThatThrownBy(() -> place.requireSpace(Long.MAX_VALUE))
                .isInstanceOf(MillraceException.class)
                .hasMessageMatching(Pattern.quote(place.path() + ": ") + "\\d+ bytes are free there \\(expected: "
                        + Long.MAX_VALUE + " for the whole model\\)");
    }

    @Test
    void anyOtherFailureIsToldWithTheFilesFinalName() {
        NewModelFolder place = new NewModelFolder(folder.resolve("made"));
        Path hidden = folder.resolve(".made.unfinished-1/model.safetensors");
        IOException failure = FileFault.named(hidden, new IOException("File too large"));
        assertThat(failure).hasMessage(hidden + ": File too large");
        assertThat(place.explained(failure, 7_000))
                .hasMessage(place.path().resolve("model.safetensors")
                        + ": File too large (expected: a file that can be written to its end)")
                .hasCause(failure);
        IOException elsewhere = FileFault.named(folder.resolve("source/tokenizer.json"), new IOException("torn"));
        assertThat(place.explained(elsewhere, 7_000)).isSameAs(elsewhere);
    }

    @Test
    void whatIsThereAlreadyIsRefused() throws IOException {
        Path there = Files.createDirectory(folder.resolve("there"));
        assertThatThrownBy(() -> new NewModelFolder(there).require())
                .isInstanceOf(MillraceException.class)
                .hasMessage(there + ": exists already (expected: a new folder)");
        new NewModelFolder(folder.resolve("a/b/c")).require();
        assertThat(folder.resolve("a")).doesNotExist();
    }

    @Test
    void aPlaceBelowAFileIsRefused() throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "");
        Path below = file.resolve("a/b");
        String expected = below + ": " + file + " is not a folder (expected: a new folder where one can be made)";
        assertThatThrownBy(() -> new NewModelFolder(below).require())
                .isInstanceOf(MillraceException.class)
                .hasMessage(expected);
        assertThatThrownBy(() -> new NewModelFolder(below).createHidden())
                .isInstanceOf(MillraceException.class)
                .hasMessageStartingWith(below + ": ")
                .hasMessageEndingWith(" (expected: a new folder where one can be made)");
    }

    @Test
    void aFolderThatTakesNoFilesIsRefused() {
        Path closed = Path.of("/proc/made");
        assumeTrue(Files.isDirectory(Path.of("/proc/self")), "there is a folder that nobody can write to");
        assertThatThrownBy(() -> new NewModelFolder(closed).require())
                .isInstanceOf(MillraceException.class)
                .hasMessage("/proc/made: the folder /proc cannot be written to"
                        + " (expected: a new folder where one can be made)");
    }

    @Test
    void aPathIsToldAsItWasGiven() {
        Path given = Path.of("pom.xml", "made");
        assertThatThrownBy(() -> new NewModelFolder(given).require())
                .hasMessageStartingWith("pom.xml/made: ")
                .hasMessageContaining(" is not a folder");
    }
}
