package io.millrace.engine.file;

import java.io.IOException;
import java.nio.file.Path;

/// Makes named pipes: whoever opens one waits for its other end.
public final class NamedPipe {
    private NamedPipe() {}

    /// Makes one.
    public static Path make(Path file) throws IOException, InterruptedException {
        int status = new ProcessBuilder("mkfifo", file.toString())
                .inheritIO()
                .start()
                .waitFor();
        if (status != 0) {
            throw new IOException("mkfifo " + file + " ended with " + status);
        }
        return file;
    }
}
