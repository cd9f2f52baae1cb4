package io.millrace.standalone.command;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
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
        private final boolean isReaderGone;

        Failure(IOException cause) {
            super(
                    "standard output cannot be written: " + cause.getMessage()
                            + " (expected: one that takes the answer)",
                    cause);
            isReaderGone = isBrokenPipe(cause);
        }

        /// The reason is known by its text alone, which is in the language of the process: so it is compared with that
        /// of
        /// a pipe whose reader left for certain.
        private static boolean isBrokenPipe(IOException failure) {
            String broken;
            try {
                Pipe pipe = Pipe.open();
                try (Pipe.SinkChannel sink = pipe.sink()) {
                    pipe.source().close();
                    broken = reason(sink);
                }
            } catch (IOException _) {
                return false;
            }
            return broken.equals(failure.getMessage());
        }

        private static String reason(Pipe.SinkChannel broken) {
            try {
                broken.write(ByteBuffer.allocate(1));
                return "";
            } catch (IOException e) {
                return String.valueOf(e.getMessage());
            }
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
