package io.millrace.engine.file;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/// Opens files that may be anything. Opening a named pipe waits for its other end, without a limit and
/// deaf to interrupts, and a device may never end, so the type is looked at before.
public final class RegularFile {
    private static final String OTHER = "not a regular file";

    private RegularFile() {}

    /// Whether there is something else of that name: a folder, a pipe, a device.
    public static boolean isOther(Path file) {
        return Files.exists(file) && !Files.isRegularFile(file);
    }

    /// Checks a file of a model that need not be there.
    ///
    /// @throws MillraceException `INVALID_CHECKPOINT` naming it if there is something else of that name
    public static void requireIfThere(Path file) {
        if (isOther(file)) {
            throw new MillraceException(
                    ErrorCode.INVALID_CHECKPOINT, file + ": " + OTHER + " (expected: a readable file)");
        }
    }

    /// Opens a file, or what a symbolic link leads to.
    ///
    /// @throws java.nio.file.NoSuchFileException if it is not there and must be
    /// @throws IOException if it is there and no regular file, or cannot be opened
    public static FileChannel open(Path file, OpenOption... options) throws IOException {
        if (isOther(file)) {
            throw new IOException(OTHER);
        }
        return FileChannel.open(file, options);
    }

    /// The first bytes of a file: all of them if there are no more than asked for.
    ///
    /// @throws IOException as [#open] does
    public static byte[] read(Path file, int maxBytes) throws IOException {
        try (FileChannel channel = open(file, StandardOpenOption.READ)) {
            return Channels.newInputStream(channel).readNBytes(maxBytes);
        }
    }
}
