package io.millrace.gateway.request;

import io.millrace.engine.chat.ChatMessages;
import io.millrace.gateway.json.JsonFields;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Body of `POST /v1/chat/completions`.
///
/// @param messages           normalised
/// @param tools              those the model may call; empty when there are none or `tool_choice` is
///                           `none`
/// @param templateArguments  further variables of the chat template
public record ChatRequest(
        Optional<String> model,
        List<Map<String, @Nullable Object>> messages,
        List<Map<String, @Nullable Object>> tools,
        Map<String, @Nullable Object> templateArguments,
        GenerationOptions options) {
    private static final Set<String> RESERVED_ARGUMENTS = Set.of("messages", "tools", "add_generation_prompt");
    /// Those of OpenAI, and GLM's `max`. Which of them make a difference is the template's affair.
    private static final List<String> REASONING_EFFORTS =
            List.of("none", "minimal", "low", "medium", "high", "xhigh", "max");

    private static final Set<String> TOOL_CHOICES = Set.of("auto", "none");

    public static ChatRequest read(JsonFields fields, GenerationOptions.Limits limits) {
        UnsupportedFields.check(fields, limits.maxChoices());
        Optional<String> model = fields.string("model");
        List<Map<String, @Nullable Object>> messages = readMessages(fields);
        List<Map<String, @Nullable Object>> tools = ChatMessages.normaliseTools(fields.value("tools"));
        boolean toolsWanted = readToolChoice(fields, !tools.isEmpty());
        GenerationOptions options = GenerationOptions.read(fields, limits, topLogprobs(fields));
        return new ChatRequest(model, messages, toolsWanted ? tools : List.of(), templateArguments(fields), options);
    }

    /// The messages of any body that has them: normalised, and fitting each other.
    ///
    /// @throws io.millrace.engine.error.MillraceException  `invalid_request`, `unsupported_content`, with
    ///                                                     the field
    public static List<Map<String, @Nullable Object>> readMessages(JsonFields fields) {
        if (!fields.has("messages")) {
            throw fields.missing("messages", "a list of messages");
        }
        List<Map<String, @Nullable Object>> messages = ChatMessages.normalise(fields.value("messages"));
        Turns.check(fields.objects("messages"));
        return messages;
    }

    private static OptionalInt topLogprobs(JsonFields fields) {
        boolean wanted = fields.bool("logprobs", false);
        var top = fields.integer("top_logprobs", 0, SamplingOptions.MAX_TOP_LOGPROBS);
        if (!wanted && top.isPresent() && top.getAsLong() > 0) {
            throw fields.invalid("top_logprobs", "top_logprobs: given (expected: only with logprobs true)");
        }
        return wanted ? OptionalInt.of((int) top.orElse(0)) : OptionalInt.empty();
    }

    private static boolean readToolChoice(JsonFields fields, boolean toolsGiven) {
        Object choice = fields.value("tool_choice");
        if (choice == null) {
            return toolsGiven;
        }
        if (choice instanceof String text && TOOL_CHOICES.contains(text)) {
            return toolsGiven && !text.equals("none");
        }
        if (choice instanceof Map<?, ?> object && !(object.get("type") instanceof String)) {
            String type = object.containsKey("type") ? "whose type is no string" : "without type";
            throw fields.invalid("tool_choice", "tool_choice: an object " + type + " (expected: auto or none)");
        }
        if (choice instanceof Map<?, ?> || "required".equals(choice)) {
            throw fields.notSupported(
                    "tool_choice",
                    "tool_choice \"required\" or a named function is not supported (expected: auto or none).");
        }
        throw fields.invalid("tool_choice", "tool_choice: " + JsonFields.shown(choice) + " (expected: auto or none)");
    }

    /// `thinking` is GLM's own parameter; `chat_template_kwargs` says the same in the template's words
    /// and wins.
    private static Map<String, @Nullable Object> templateArguments(JsonFields fields) {
        Map<String, @Nullable Object> arguments = new LinkedHashMap<>();
        readReasoningEffort(fields).ifPresent(effort -> arguments.put("reasoning_effort", effort));
        fields.object("thinking").ifPresent(thinking -> {
            String type = thinking.requiredString("type");
            switch (type) {
                case "enabled" -> arguments.put("enable_thinking", true);
                case "disabled" -> arguments.put("enable_thinking", false);
                default ->
                    throw thinking.invalid(
                            "type", "thinking.type: \"" + shortened(type) + "\" (expected: enabled or disabled)");
            }
            if (thinking.has("clear_thinking")) {
                arguments.put("clear_thinking", thinking.bool("clear_thinking", true));
            }
        });
        fields.object("chat_template_kwargs").ifPresent(extra -> {
            for (String name : extra.names()) {
                if (RESERVED_ARGUMENTS.contains(name)) {
                    throw extra.invalid(name, extra.pathOf(name) + ": reserved (expected: a field of the request)");
                }
            }
            arguments.putAll(extra.asMap());
        });
        return arguments;
    }

    /// How much the model is to think, if the body says.
    ///
    /// @throws io.millrace.engine.error.MillraceException  `invalid_request`
    public static Optional<String> readReasoningEffort(JsonFields fields) {
        Optional<String> effort = fields.string("reasoning_effort");
        effort.filter(name -> !REASONING_EFFORTS.contains(name)).ifPresent(name -> {
            throw fields.invalid(
                    "reasoning_effort",
                    "reasoning_effort: \"" + shortened(name) + "\" (expected: one of "
                            + String.join(", ", REASONING_EFFORTS) + ")");
        });
        return effort;
    }

    private static String shortened(String text) {
        return text.length() <= 32 ? text : text.substring(0, 32) + "…";
    }
}
