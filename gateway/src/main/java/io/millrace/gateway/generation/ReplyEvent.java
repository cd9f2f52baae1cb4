package io.millrace.gateway.generation;

import io.millrace.engine.chat.ReplyDelta;
import io.millrace.engine.error.MillraceException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// One step of an answer. Streams show each as it comes; a whole answer is folded from the same events.
public sealed interface ReplyEvent {
    /// Which choice of the request.
    int choice();

    /// More of a choice.
    record Delta(int choice, List<Part> parts) implements ReplyEvent {
        public Delta {
            parts = List.copyOf(parts);
        }

        /// New text and tool calls of all parts, in order.
        public List<ReplyDelta> deltas() {
            List<ReplyDelta> all = new ArrayList<>();
            for (Part part : parts) {
                all.addAll(part.deltas);
            }
            return all;
        }

        /// The tokens behind all parts, where log-probabilities were asked for.
        public List<LoggedToken> tokens() {
            List<LoggedToken> all = new ArrayList<>();
            for (Part part : parts) {
                all.addAll(part.tokens);
            }
            return all;
        }
    }

    /// What tokens showed.
    ///
    /// @param tokens  where log-probabilities were asked for: those the deltas are made of, and before
    ///                them such as show nothing
    /// @param deltas  new text and tool calls; empty only for tokens at the end that show nothing
    record Part(List<LoggedToken> tokens, List<ReplyDelta> deltas) {
        public Part {
            tokens = List.copyOf(tokens);
            deltas = List.copyOf(deltas);
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
