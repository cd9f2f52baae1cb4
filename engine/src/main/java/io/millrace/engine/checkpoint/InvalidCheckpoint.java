package io.millrace.engine.checkpoint;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/// Builds the one exception this package throws.
final class InvalidCheckpoint {
    private static final int MAX_QUOTED = 120;

    private InvalidCheckpoint() {}

    /// `<file>: <what was found> (expected: <what should be there>)`.
    static MillraceException of(Path file, String found, String expected) {
        return of(file, found, expected, null);
    }

    static MillraceException of(Path file, String found, String expected, @Nullable Throwable cause) {
        return new MillraceException(
                ErrorCode.INVALID_CHECKPOINT, file + ": " + found + " (expected: " + expected + ")", cause);
    }

    /// Foreign text fit for a message: control characters replaced, long text cut.
    static String quote(String foreign) {
        StringBuilder result = new StringBuilder();
        for (int i = 0; i < foreign.length() && result.length() < MAX_QUOTED; i++) {
            char c = foreign.charAt(i);
            result.append(Character.isISOControl(c) || Character.isSurrogate(c) ? '?' : c);
        }
        return foreign.length() > MAX_QUOTED ? result.append('…').toString() : result.toString();
    }
}
