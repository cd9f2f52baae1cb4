package io.millrace.standalone.command;

import io.millrace.engine.file.FileFault;
import io.millrace.engine.file.RegularFile;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/// A file that a command writes at its end, and that is tried before its work.
///
/// @param option  that named it
record OutputFile(String option, Path file) {
    private static final String EXPECTED = " (expected: a file that can be written)";

    /// Says so if it cannot be written. What is in it stays, and where nothing is nothing is left.
    ///
    /// @throws IllegalArgumentException naming option and file
    void require() {
        Path parent = file.toAbsolutePath().getParent();
        if (parent == null || !Files.isDirectory(parent) || Files.isDirectory(file)) {
            throw new IllegalArgumentException(option + ": " + file + " (expected: a file in a folder that exists)");
        }
        // Opening a pipe would wait for its reader.
        if (RegularFile.isOther(file)) {
            if (!Files.isWritable(file)) {
                throw new IllegalArgumentException(option + ": " + file + ": no permission" + EXPECTED);
            }
            return;
        }
        try {
            tryWriting();
        } catch (IOException e) {
            throw new IllegalArgumentException(option + ": " + file + ": " + FileFault.found(e) + EXPECTED, e);
        }
    }

    private void tryWriting() throws IOException {
        boolean absent = !Files.exists(file);
        FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)
                .close();
        if (absent) {
            // Of a link to nothing what it leads to.
            Files.deleteIfExists(file.toRealPath());
        }
    }

    /// Writes it; where nothing was and it cannot be written whole nothing is left.
    void write(String text) throws IOException {
        boolean absent = !Files.exists(file);
        try {
            Files.writeString(file, text);
        } catch (IOException e) {
            if (absent && Files.exists(file)) {
                Files.deleteIfExists(file.toRealPath());
            }
            throw FileFault.named(file, e);
        }
    }
}
