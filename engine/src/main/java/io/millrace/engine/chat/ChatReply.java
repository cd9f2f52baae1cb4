package io.millrace.engine.chat;

import io.millrace.engine.chat.ReplyDelta.ContentDelta;
import io.millrace.engine.chat.ReplyDelta.ReasoningDelta;
import io.millrace.engine.chat.ReplyDelta.ToolCallArguments;
import io.millrace.engine.chat.ReplyDelta.ToolCallEnd;
import io.millrace.engine.chat.ReplyDelta.ToolCallStart;
import java.util.ArrayList;
import java.util.List;

/// A whole reply.
///
/// @param reasoning  the reasoning, empty if none
/// @param content    the answer, empty if none
/// @param toolCalls  the calls in order
public record ChatReply(String reasoning, String content, List<ToolCall> toolCalls) {

    /// A tool call.
    ///
    /// @param arguments  a JSON object as text; not finished if the call is not complete
    /// @param complete   false if the reply ended inside the call
    public record ToolCall(String id, String name, String arguments, boolean complete) {}

    public ChatReply {
        toolCalls = List.copyOf(toolCalls);
    }

    /// Whether at least one call is there and all are complete: the reply asks for its tools to be
    /// called.
    public boolean callsTools() {
        return !toolCalls.isEmpty() && toolCalls.stream().allMatch(ToolCall::complete);
    }

    /// Adds the deltas of one reply up.
    public static final class Fold {
        private static final class OpenCall {
            private final ToolCallStart start;
            private final StringBuilder arguments = new StringBuilder();
            private boolean complete;

            OpenCall(ToolCallStart start) {
                this.start = start;
            }
        }

        private final StringBuilder reasoning = new StringBuilder();
        private final StringBuilder content = new StringBuilder();
        private final List<OpenCall> calls = new ArrayList<>();

        public Fold add(List<ReplyDelta> deltas) {
            for (ReplyDelta delta : deltas) {
                switch (delta) {
                    case ReasoningDelta(String text) -> reasoning.append(text);
                    case ContentDelta(String text) -> content.append(text);
                    case ToolCallStart start -> calls.add(new OpenCall(start));
                    case ToolCallArguments(int index, String jsonText) ->
                        calls.get(index).arguments.append(jsonText);
                    case ToolCallEnd(int index) -> calls.get(index).complete = true;
                }
            }
            return this;
        }

        /// The reply so far.
        public ChatReply reply() {
            List<ToolCall> toolCalls = new ArrayList<>();
            for (OpenCall call : calls) {
                toolCalls.add(
                        new ToolCall(call.start.id(), call.start.name(), call.arguments.toString(), call.complete));
            }
            return new ChatReply(reasoning.toString(), content.toString(), toolCalls);
        }
    }
}
