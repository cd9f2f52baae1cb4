package io.millrace.standalone.command;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/// Where answers go. A print stream keeps failures to itself; what cannot be written here ends the command.
public final class AnswerOutput extends OutputStream {
    private final OutputStream out;

    private AnswerOutput(OutputStream out) {
        this.out = out;
    }

    /// Prints to a stream; [Failure] says that it takes no more.
    public static PrintStream to(OutputStream out) {
        return new PrintStream(new AnswerOutput(out), false, StandardCharsets.UTF_8);
    }

    /// Nobody can be answered any more.
    public static final class Failure extends UncheckedIOException {
        private static final long serialVersionUID = 1;
        /// As Linux says it of a pipe whose reader left.
        private static final String BROKEN_PIPE = "Broken pipe";

        private final boolean isReaderGone;

        Failure(IOException cause) {
            super(
                    "standard output cannot be written: " + cause.getMessage()
                            + " (expected: one that takes the answer)",
                    cause);
            isReaderGone = BROKEN_PIPE.equals(cause.getMessage());
        }

        /// Whether whoever read the output has enough of it.
        public boolean isReaderGone() {
            return isReaderGone;
        }
    }

    @Override
    public void write(int b) {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int from, int count) {
        try {
            out.write(bytes, from, count);
        } catch (IOException e) {
            throw new Failure(e);
        }
    }

    @Override
    public void flush() {
        try {
            out.flush();
        } catch (IOException e) {
            throw new Failure(e);
        }
    }
}
