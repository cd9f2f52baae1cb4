package io.millrace.engine.chat;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// What a chat template renders. JSON values are plain Java: `Map`, `List`, `String`, `Boolean`,
/// `Integer`, `Long`, `BigInteger`, `Double`, `BigDecimal`, null. Every string in it is text of the
/// caller.
///
/// @param messages             normalised messages ([ChatMessages#normalise]), or raw ones to see the
/// template's own behaviour
/// @param tools                tool definitions, empty if none
/// @param addGenerationPrompt  whether the prompt ends where the assistant begins to write
/// @param templateArguments    further variables of the template, e.g. `enable_thinking`
public record ChatInput(
        List<Map<String, @Nullable Object>> messages,
        List<Map<String, @Nullable Object>> tools,
        boolean addGenerationPrompt,
        Map<String, @Nullable Object> templateArguments) {

    // Written out: the compact form loses the nullness of type arguments for other modules.
    public ChatInput(
            List<Map<String, @Nullable Object>> messages,
            List<Map<String, @Nullable Object>> tools,
            boolean addGenerationPrompt,
            Map<String, @Nullable Object> templateArguments) {
        this.messages = List.copyOf(messages);
        this.tools = List.copyOf(tools);
        this.addGenerationPrompt = addGenerationPrompt;
        this.templateArguments = Collections.unmodifiableMap(new LinkedHashMap<>(templateArguments));
    }

    /// Messages alone, ready for the assistant to answer.
    public static ChatInput of(List<Map<String, @Nullable Object>> messages) {
        return new ChatInput(messages, List.of(), true, Map.of());
    }
}
