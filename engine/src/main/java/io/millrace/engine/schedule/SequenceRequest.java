package io.millrace.engine.schedule;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.sampling.SamplingParams;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// One choice of one request, as an engine loop runs it.
///
/// @param requestId      name in logs
/// @param choiceIndex    which of several choices this is; part of every draw
/// @param promptIds      the prompt, at least one token
/// @param generatedIds   tokens generated and delivered before (retry, migration); they are computed, not
///                       sampled again
/// @param sampling       how the next token is drawn
/// @param seed           of every draw
/// @param stopIds        generated ids that end the sequence; the id itself is delivered, as the last one
/// @param maxTokens      most generated tokens, those in `generatedIds` included
/// @param stopCondition  decides by text, new for this sequence; null without stop strings. Used by the
///                       loop alone
/// @param exportBlocks   whether [SequenceListener#onBlock] gets the blocks that were computed here
/// @param exportTail     whether [SequenceListener#onTail] gets what is left when all given tokens are
///                       computed
@SuppressWarnings("ArrayRecordComponent") // copied in and out; compared by identity
public record SequenceRequest(
        String requestId,
        int choiceIndex,
        int[] promptIds,
        int[] generatedIds,
        SamplingParams sampling,
        long seed,
        int[] stopIds,
        int maxTokens,
        @Nullable StopCondition stopCondition,
        boolean exportBlocks,
        boolean exportTail) {

    public SequenceRequest {
        promptIds = promptIds.clone();
        generatedIds = generatedIds.clone();
        stopIds = stopIds.clone();
        if (promptIds.length == 0) {
            throw MillraceException.ofParam(
                    ErrorCode.INVALID_REQUEST, "prompt", "prompt_ids: none (expected: at least one token)");
        }
        if (maxTokens < 1) {
            throw MillraceException.ofParam(
                    ErrorCode.INVALID_REQUEST, "max_tokens", "max_tokens: " + maxTokens + " (expected: at least 1)");
        }
    }

    /// Tokens known before the first step.
    public int givenTokens() {
        return promptIds.length + generatedIds.length;
    }

    @Override
    public int[] promptIds() {
        return promptIds.clone();
    }

    @Override
    public int[] generatedIds() {
        return generatedIds.clone();
    }

    @Override
    public int[] stopIds() {
        return stopIds.clone();
    }

    int promptTokens() {
        return promptIds.length;
    }

    int generatedTokens() {
        return generatedIds.length;
    }

    int generatedId(int index) {
        return generatedIds[index];
    }

    int token(int index) {
        return index < promptIds.length ? promptIds[index] : generatedIds[index - promptIds.length];
    }

    boolean isStop(int id) {
        for (int stop : stopIds) {
            if (stop == id) {
                return true;
            }
        }
        return false;
    }

    /// A request is itself: two are equal when they are the same object.
    @Override
    public boolean equals(@Nullable Object other) {
        return this == other;
    }

    @Override
    public int hashCode() {
        return Objects.hash(requestId, choiceIndex);
    }

    /// Without token ids: a request is named in logs, its text never.
    @Override
    public String toString() {
        return requestId + "/" + choiceIndex + "[prompt=" + promptIds.length + ", generated=" + generatedIds.length
                + ", maxTokens=" + maxTokens + "]";
    }
}
