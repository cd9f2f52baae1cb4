package io.millrace.engine.chat;

/// One step of a reply. The whole reply is the fold of its deltas ([ChatReply.Fold]).
public sealed interface ReplyDelta {
    /// More text of the reasoning.
    record ReasoningDelta(String text) implements ReplyDelta {}

    /// More text of the answer.
    record ContentDelta(String text) implements ReplyDelta {}

    /// A tool call whose name is complete.
    ///
    /// @param index  number of the call in this reply, from 0
    /// @param id     id of the call, the same whenever the same request is parsed again
    record ToolCallStart(int index, String id, String name) implements ReplyDelta {}

    /// More text of a call's arguments: the pieces of one call joined are one JSON object, unless the
    /// reply was cut off.
    record ToolCallArguments(int index, String jsonText) implements ReplyDelta {}

    /// A tool call that is complete: nothing of it follows.
    record ToolCallEnd(int index) implements ReplyDelta {}
}
