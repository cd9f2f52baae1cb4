package io.millrace.kernels.nativecode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LibraryFileTest {
    @TempDir
    Path folder;

    @Test
    void leavesNothingOfThePackagedLibrary() throws IOException {
        assumeTrue(NativeKernels.declines().isEmpty(), "native kernels are not part of this build");
        LibraryFile library = LibraryFile.packaged(folder);
        assertThat(library.symbols()).isPresent();
        assertThat(library.levels()).startsWith(IsaLevel.PORTABLE);
        try (Stream<Path> left = Files.list(folder)) {
            assertThat(left).isEmpty();
        }
    }

    @Test
    void namesAFolderThatCannotBeWritten() {
        assumeTrue(NativeKernels.declines().isEmpty(), "native kernels are not part of this build");
        LibraryFile library = LibraryFile.packaged(folder.resolve("absent"));
        assertDeclines(library, "cannot be written to " + folder.resolve("absent") + ": no such folder (expected: ");
        assertThat(library.isHere()).isTrue();
    }

    @Test
    void namesTheSpaceThatAFullFolderLacks() throws IOException {
        long free = Files.getFileStore(folder).getUsableSpace();
        String reason = LibraryFile.unwritten(folder, free + 2_000_000, new IOException("No space left on device"));
        assertThat(reason)
                .matches(Pattern.quote("cannot be written to " + folder + ": No space left on device, ")
                        + "\\d+ KiB free \\(expected: a folder with \\d+ KiB of room, see java.io.tmpdir\\)");
        assertThat(LibraryFile.unwritten(folder, 1, new AccessDeniedException("x")))
                .isEqualTo("cannot be written to " + folder
                        + ": no permission (expected: a writable folder, see java.io.tmpdir)");
    }

    @Test
    void aBuildWithoutALibraryHasNone() {
        assertThat(LibraryFile.in(folder).isHere()).isTrue();
        assertThat(LibraryFile.absent("no compiler").isHere()).isFalse();
    }

    @Test
    void namesAMissingFile() {
        assertDeclines(LibraryFile.in(folder), "cannot be loaded");
    }

    @Test
    void namesAFileThatIsNoLibrary() throws IOException {
        Files.writeString(place(), "no library");
        assertDeclines(LibraryFile.in(folder), "cannot be loaded");
    }

    @Test
    void namesALibraryOfSomethingElse() throws IOException {
        Path foreign = Path.of(System.getProperty("java.home"), "lib", "libzip.so");
        assumeTrue(Files.exists(foreign), "no " + foreign);
        Files.copy(foreign, place());
        assertDeclines(LibraryFile.in(folder), "no function mr_levels");
    }

    private Path place() throws IOException {
        Path file = folder.resolve(LibraryFile.resource().substring("/native/".length()));
        Files.createDirectories(file.getParent());
        return file;
    }

    private static void assertDeclines(LibraryFile library, String reason) {
        assertThat(library.symbols()).isEmpty();
        assertThat(library.levels()).isEmpty();
        assertThat(library.reason()).contains(reason);
    }
}
