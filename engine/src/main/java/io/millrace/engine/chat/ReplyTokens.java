package io.millrace.engine.chat;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;

/// The added tokens a reply is split by, and those that end a turn, with their ids in one tokenizer.
///
/// @param ids  added token to id; further tokens may be in it, absent ones are not recognised
public record ReplyTokens(Map<String, Integer> ids) {
    static final String THINK = "<think>";
    static final String THINK_END = "</think>";
    private static final List<String> NAMES = List.of(
            THINK,
            THINK_END,
            "<tool_call>",
            "</tool_call>",
            "<arg_key>",
            "</arg_key>",
            "<arg_value>",
            "</arg_value>",
            "<|system|>",
            "<|user|>",
            "<|assistant|>",
            "<|observation|>",
            "<|endoftext|>",
            "<sop>");

    public ReplyTokens {
        ids = Map.copyOf(ids);
    }

    /// Looks the tokens up in a tokenizer: `ReplyTokens.of(tokenizer::idOf)`.
    public static ReplyTokens of(Function<String, OptionalInt> idOf) {
        Map<String, Integer> ids = new HashMap<>();
        for (String name : NAMES) {
            OptionalInt id = idOf.apply(name);
            if (id.isPresent()) {
                ids.put(name, id.getAsInt());
            }
        }
        return new ReplyTokens(ids);
    }

    /// How a prompt leaves the reasoning of the turn it asks for.
    public enum Thinking {
        /// The prompt's last added token is `<think>`: the reply starts as reasoning.
        OPEN,
        /// It is `</think>`: the reply is content, and a `<think>` in it opens nothing.
        CLOSED,
        /// Neither: the reply starts as content, and may open reasoning itself before any other text.
        UNDECIDED
    }

    /// How the prompt leaves the reasoning: decided by its last added token of [#ids].
    public Thinking thinking(int[] promptIds) {
        for (int i = promptIds.length - 1; i >= 0; i--) {
            Optional<String> name = name(promptIds[i]);
            if (name.isPresent()) {
                return switch (name.get()) {
                    case THINK -> Thinking.OPEN;
                    case THINK_END -> Thinking.CLOSED;
                    default -> Thinking.UNDECIDED;
                };
            }
        }
        return Thinking.UNDECIDED;
    }

    private Optional<String> name(int id) {
        for (Map.Entry<String, Integer> entry : ids.entrySet()) {
            if (entry.getValue() == id) {
                return Optional.of(entry.getKey());
            }
        }
        return Optional.empty();
    }
}
