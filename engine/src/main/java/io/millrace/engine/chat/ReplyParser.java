package io.millrace.engine.chat;

import io.millrace.engine.chat.ReplyDelta.ContentDelta;
import io.millrace.engine.chat.ReplyDelta.ReasoningDelta;
import io.millrace.engine.chat.ReplyDelta.ToolCallArguments;
import io.millrace.engine.chat.ReplyDelta.ToolCallEnd;
import io.millrace.engine.chat.ReplyDelta.ToolCallStart;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Splits generated tokens into reasoning, content and tool calls by GLM's syntax:
/// `reasoning</think>content<tool_call>name<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>`.
///
/// Control tokens are recognised by id only: the same characters spelled by ordinary tokens are text.
/// State is a function of the tokens fed so far, so a reply can be rebuilt by replay.
///
/// - A `<tool_call>` inside reasoning ends the reasoning.
/// - Text is kept exactly, as vLLM does: templates strip it on its way back in. One exception: a stretch
///   of content before, between or after tool calls that is white space only is layout, and dropped.
/// - An argument is typed by its declared schema ([ArgumentTypes]); the first of two equal keys counts.
/// - A call is reported once its name is complete, its arguments pair by pair. A call cut off by the end
///   of the reply keeps the pairs that are complete and gets no [ToolCallEnd]: its argument text stays
///   open (or empty), so that nobody takes it for a whole call.
///
/// One parser per choice; not for several threads.
public final class ReplyParser {
    private enum State {
        REASONING,
        CONTENT,
        NAME,
        BETWEEN,
        KEY,
        KEY_DONE,
        VALUE
    }

    private enum Control {
        THINK,
        THINK_END,
        CALL,
        CALL_END,
        KEY,
        KEY_END,
        VALUE,
        VALUE_END
    }

    private final Map<Integer, Control> controls = new HashMap<>();
    private final Map<Control, String> spellings = new HashMap<>();
    private final ArgumentTypes types;
    private final String callIdSeed;
    private final boolean mayOpenReasoning;

    private State state;
    private boolean answerBegun;
    private boolean afterCall;
    /// Text of the current name, key, value or white-space-only content.
    private final StringBuilder held = new StringBuilder();

    private int callIndex = -1;
    private String callName = "";
    private String key = "";
    private final Set<String> keys = new HashSet<>();
    private List<ReplyDelta> deltas = new ArrayList<>();

    /// @param tokens      the tokenizer's control tokens
    /// @param thinking    how the prompt ended: [ReplyTokens#thinking]
    /// @param tools       normalised tool definitions: their schemas type the arguments
    /// @param callIdSeed  what call ids are derived from: request id and choice
    public ReplyParser(
            ReplyTokens tokens,
            ReplyTokens.Thinking thinking,
            List<Map<String, @Nullable Object>> tools,
            String callIdSeed) {
        this.types = new ArgumentTypes(tools);
        this.callIdSeed = callIdSeed;
        this.mayOpenReasoning = thinking == ReplyTokens.Thinking.UNDECIDED;
        this.state = thinking == ReplyTokens.Thinking.OPEN ? State.REASONING : State.CONTENT;
        define(tokens, ReplyTokens.THINK, Control.THINK);
        define(tokens, ReplyTokens.THINK_END, Control.THINK_END);
        define(tokens, "<tool_call>", Control.CALL);
        define(tokens, "</tool_call>", Control.CALL_END);
        define(tokens, "<arg_key>", Control.KEY);
        define(tokens, "</arg_key>", Control.KEY_END);
        define(tokens, "<arg_value>", Control.VALUE);
        define(tokens, "</arg_value>", Control.VALUE_END);
    }

    private void define(ReplyTokens tokens, String name, Control control) {
        Integer id = tokens.ids().get(name);
        if (id != null) {
            controls.put(id, control);
            spellings.put(control, name);
        }
    }

    /// Takes the next token.
    ///
    /// @param tokenId  its id
    /// @param text     the text that became complete with it; for a control token that is what was still
    ///                 open before it, with or without the control token's own spelling at the end
    /// @return what is new in the reply, often nothing
    public List<ReplyDelta> accept(int tokenId, String text) {
        Control control = controls.get(tokenId);
        if (control == null) {
            text(text);
        } else {
            String spelling = spellings.getOrDefault(control, "");
            text(text.endsWith(spelling) ? text.substring(0, text.length() - spelling.length()) : text);
            control(control);
        }
        return drain();
    }

    /// Takes text that belongs to no further token: what the detokenizer still held.
    public List<ReplyDelta> acceptText(String text) {
        text(text);
        return drain();
    }

    /// Ends the reply.
    public List<ReplyDelta> finish() {
        if (state == State.CONTENT && !afterCall) {
            flushContent();
        }
        held.setLength(0);
        return drain();
    }

    private List<ReplyDelta> drain() {
        if (deltas.isEmpty()) {
            return List.of();
        }
        List<ReplyDelta> drained = List.copyOf(deltas);
        deltas = new ArrayList<>();
        return drained;
    }

    private void text(String text) {
        if (text.isEmpty()) {
            return;
        }
        switch (state) {
            case REASONING -> deltas.add(new ReasoningDelta(text));
            case CONTENT -> {
                if (held.isEmpty() && answerBegun) {
                    deltas.add(new ContentDelta(text));
                } else {
                    held.append(text);
                    if (!text.isBlank()) {
                        flushContent();
                    }
                }
            }
            case NAME, KEY, VALUE -> held.append(text);
            case BETWEEN, KEY_DONE -> {
                // Layout between the parts of a call.
            }
        }
    }

    private void flushContent() {
        if (!held.isEmpty()) {
            deltas.add(new ContentDelta(held.toString()));
            held.setLength(0);
            answerBegun = true;
        }
    }

    private void control(Control control) {
        switch (state) {
            case REASONING -> {
                if (control == Control.THINK_END) {
                    state = State.CONTENT;
                } else if (control == Control.CALL) {
                    beginCall();
                }
            }
            case CONTENT -> {
                if (control == Control.CALL) {
                    beginCall();
                } else if (control == Control.THINK && mayOpenReasoning && !answerBegun && callIndex < 0) {
                    held.setLength(0);
                    state = State.REASONING;
                }
            }
            case NAME, BETWEEN, KEY, KEY_DONE, VALUE -> callControl(control);
        }
    }

    private void callControl(Control control) {
        switch (control) {
            case THINK, THINK_END -> {
                // No meaning inside a call.
            }
            case CALL -> beginCall();
            case CALL_END -> endCall();
            case KEY -> {
                completePart();
                state = State.KEY;
            }
            case VALUE -> {
                completePart();
                state = State.VALUE;
            }
            case KEY_END, VALUE_END -> completePart();
        }
    }

    /// Ends the name, key or value being read.
    private void completePart() {
        String part = held.toString();
        held.setLength(0);
        switch (state) {
            case NAME -> {
                callName = part.strip();
                callIndex++;
                deltas.add(new ToolCallStart(callIndex, callId(callIndex), callName));
                state = State.BETWEEN;
            }
            case KEY -> {
                key = part.strip();
                state = State.KEY_DONE;
            }
            case VALUE -> {
                argument(part);
                state = State.BETWEEN;
            }
            case BETWEEN, KEY_DONE, CONTENT, REASONING -> {
                // Nothing is being read.
            }
        }
    }

    private void argument(String value) {
        if (keys.add(key)) {
            String opening = keys.size() == 1 ? "{" : ", ";
            deltas.add(new ToolCallArguments(
                    callIndex, opening + Json.write(key) + ": " + types.json(callName, key, value)));
        }
    }

    private void beginCall() {
        held.setLength(0);
        keys.clear();
        key = "";
        state = State.NAME;
    }

    private void endCall() {
        completePart();
        deltas.add(new ToolCallArguments(callIndex, keys.isEmpty() ? "{}" : "}"));
        deltas.add(new ToolCallEnd(callIndex));
        held.setLength(0);
        state = State.CONTENT;
        answerBegun = false;
        afterCall = true;
    }

    private String callId(int index) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            byte[] hash = digest.digest((callIdSeed + "\n" + index).getBytes(StandardCharsets.UTF_8));
            return "call_" + HexFormat.of().formatHex(hash, 0, 12);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("SHA-256 is part of every JDK", e);
        }
    }
}
