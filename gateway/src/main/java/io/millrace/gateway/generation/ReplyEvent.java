package io.millrace.gateway.generation;

import io.millrace.engine.chat.ReplyDelta;
import io.millrace.engine.error.MillraceException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// One step of an answer. Streams show each as it comes; a whole answer is folded from the same events.
public sealed interface ReplyEvent {
    /// Which choice of the request.
    int choice();

    /// More of a choice.
    ///
    /// @param deltas  new text and tool calls, in order; may be empty while log-probabilities are
    ///                reported
    /// @param tokens  the tokens behind it, where log-probabilities were asked for
    record Delta(int choice, List<ReplyDelta> deltas, List<LoggedToken> tokens) implements ReplyEvent {
        public Delta {
            deltas = List.copyOf(deltas);
            tokens = List.copyOf(tokens);
        }
    }

    /// The choice is complete; its last event.
    record Finished(int choice, Ending ending, ChoiceReceipt receipt) implements ReplyEvent {}

    /// The choice failed; its last event.
    record Failed(int choice, MillraceException error) implements ReplyEvent {}

    /// Why a choice ended.
    ///
    /// @param stopString  the stop string that matched, or null
    /// @param stopId      the caller's stop id that matched, or null; the model's own end tokens are
    ///                    not reported
    record Ending(
            Reason reason,
            @Nullable String stopString,
            @Nullable Integer stopId) {}

    /// OpenAI's finish reasons.
    enum Reason {
        STOP("stop"),
        LENGTH("length"),
        TOOL_CALLS("tool_calls");

        private final String wireName;

        Reason(String wireName) {
            this.wireName = wireName;
        }

        public String wireName() {
            return wireName;
        }
    }

    /// A token with its log-probability.
    ///
    /// @param top  the most likely tokens in its place, most likely first
    record LoggedToken(TokenText token, float logprob, List<Alternative> top) {
        public LoggedToken {
            top = List.copyOf(top);
        }
    }

    /// A token that could have been.
    record Alternative(TokenText token, float logprob) {}

    /// A token's text; its bytes tell all where it is no whole character.
    record TokenText(String text, List<Integer> bytes) {}
}
