package io.millrace.standalone.command;

import io.millrace.engine.chat.ChatInput;
import io.millrace.engine.chat.ChatMessages;
import io.millrace.engine.chat.ChatTemplate;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.text.MarkedText;
import io.millrace.gateway.json.JsonFields;
import io.millrace.gateway.request.ChatRequest;
import java.nio.file.Path;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// Renders the line `{"messages", "tools", "add_generation_prompt", …template arguments}` the way the
/// gateway renders a request, and refuses messages that it refuses.
final class PromptRenderer {
    private final ChatTemplate template;
    private final boolean normalises;

    private PromptRenderer(ChatTemplate template, boolean normalises) {
        this.template = template;
        this.normalises = normalises;
    }

    /// @param normalises  whether messages are brought into the form all templates understand first
    /// @throws MillraceException `NO_CHAT_TEMPLATE` if the folder holds none
    static PromptRenderer load(Path folder, Clock clock, boolean normalises) {
        ChatTemplate template = ChatTemplate.load(folder, clock)
                .orElseThrow(() -> new MillraceException(
                        ErrorCode.NO_CHAT_TEMPLATE,
                        folder + ": no chat template (expected: chat_template.jinja, or chat_template in"
                                + " tokenizer_config.json)"));
        return new PromptRenderer(template, normalises);
    }

    MarkedText render(Map<String, @Nullable Object> line) {
        Fields fields = new Fields(line);
        if (!fields.has("messages")) {
            throw Fields.invalid("messages", "missing (expected: a list of messages)");
        }
        List<Map<String, @Nullable Object>> messages = normalises ? checked(line) : fields.takeObjects("messages");
        fields.take("messages");
        List<Map<String, @Nullable Object>> tools =
                normalises ? ChatMessages.normaliseTools(fields.take("tools")) : fields.takeObjects("tools");
        boolean addGenerationPrompt = fields.takeFlag("add_generation_prompt", true);
        return template.render(new ChatInput(messages, tools, addGenerationPrompt, fields.rest()));
    }

    /// What the gateway refuses has no prompt.
    private static List<Map<String, @Nullable Object>> checked(Map<String, @Nullable Object> line) {
        JsonFields body = JsonFields.of(line);
        List<Map<String, @Nullable Object>> messages = ChatRequest.readMessages(body);
        ChatRequest.readReasoningEffort(body);
        return messages;
    }
}
