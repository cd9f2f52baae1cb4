package io.millrace.kernels.nativecode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
        assertDeclines(LibraryFile.packaged(folder.resolve("absent")), "cannot be written to " + folder);
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
