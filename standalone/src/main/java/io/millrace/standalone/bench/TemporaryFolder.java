package io.millrace.standalone.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/// A folder for one model or other folder at a time, which is gone when the measurements end, also by Ctrl-C.
public final class TemporaryFolder implements AutoCloseable {
    private static final int ATTEMPTS = 100;

    private final Path folder;
    private final Path inner;
    private final Thread atExit = new Thread(this::deleteAtExit, "delete-temporary-folder");

    private TemporaryFolder(Path folder) {
        this.folder = folder;
        this.inner = folder.resolve("model");
    }

    /// Makes the folder; it is deleted by [#close()], or when the process is told to end before that.
    public static TemporaryFolder create() throws IOException {
        TemporaryFolder made = new TemporaryFolder(Files.createTempDirectory("millrace-bench-"));
        Runtime.getRuntime().addShutdownHook(made.atExit);
        return made;
    }

    /// Deletes what is there.
    ///
    /// @return where the next one may be written; nothing is there
    public Path next() throws IOException {
        delete(inner);
        return inner;
    }

    @Override
    public void close() throws IOException {
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException e) {
            // The process ends: the hook deletes.
            return;
        }
        delete(folder);
    }

    // Whoever writes there still runs and may add a file to a folder that was just emptied.
    private void deleteAtExit() {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            try {
                delete(folder);
                return;
            } catch (DirectoryNotEmptyException e) {
                Thread.onSpinWait();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static void delete(Path path) throws IOException {
        if (Files.isDirectory(path)) {
            List<Path> inside;
            try (Stream<Path> listed = Files.list(path)) {
                inside = listed.toList();
            } catch (NoSuchFileException e) {
                // Its maker removed it.
                return;
            }
            for (Path one : inside) {
                delete(one);
            }
        }
        Files.deleteIfExists(path);
    }
}
