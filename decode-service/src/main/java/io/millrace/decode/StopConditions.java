package io.millrace.decode;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.schedule.StopCondition;
import io.millrace.engine.tokenizer.StopStrings;
import io.millrace.engine.tokenizer.Tokenizer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Makes the stop condition of each request from its stop strings. The text they are sought in leaves out
/// special tokens, like the text that the gateway shows.
final class StopConditions implements AutoCloseable {
    private final @Nullable Tokenizer tokenizer;
    private final boolean owned;

    private StopConditions(@Nullable Tokenizer tokenizer, boolean owned) {
        this.tokenizer = tokenizer;
        this.owned = owned;
    }

    /// Over a tokenizer that somebody else closes.
    static StopConditions of(Tokenizer shared) {
        return new StopConditions(shared, false);
    }

    /// Over the tokenizer of a model folder; a folder without one serves requests without stop strings.
    static StopConditions of(Path modelFolder) {
        boolean present = Files.exists(modelFolder.resolve("tokenizer.json"));
        return new StopConditions(present ? Tokenizer.load(modelFolder) : null, present);
    }

    /// Null without stop strings.
    @Nullable
    StopCondition of(List<String> stops) {
        if (stops.isEmpty()) {
            return null;
        }
        if (tokenizer == null) {
            throw MillraceException.ofParam(
                    ErrorCode.NOT_SUPPORTED,
                    "stop",
                    "stop: " + stops.size() + " strings (expected: none, the model folder has no tokenizer.json)");
        }
        return new StopStrings(tokenizer, stops, true);
    }

    @Override
    public void close() {
        if (owned && tokenizer != null) {
            tokenizer.close();
        }
    }
}
