package io.millrace.engine.pack;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;

/// Opens files that may be anything. Opening a named pipe waits for its other end, without a limit and
/// deaf to interrupts, so the type is looked at before.
final class RegularFile {
    private RegularFile() {}

    /// Opens a file, or what a symbolic link leads to.
    ///
    /// @throws java.nio.file.NoSuchFileException if it is not there and must be
    /// @throws IOException if it is there and no regular file, or cannot be opened
    static FileChannel open(Path file, OpenOption... options) throws IOException {
        if (Files.exists(file) && !Files.isRegularFile(file)) {
            throw new IOException("not a regular file");
        }
        return FileChannel.open(file, options);
    }
}
