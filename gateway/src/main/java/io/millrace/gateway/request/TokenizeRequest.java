package io.millrace.gateway.request;

import io.millrace.engine.chat.ChatMessages;
import io.millrace.gateway.json.JsonFields;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// Bodies of `POST /tokenize` and `POST /detokenize`, in vLLM's shapes.
public sealed interface TokenizeRequest {
    /// Text to ids, as `/v1/completions` would read it.
    record Text(Optional<String> model, String prompt, boolean withTokenTexts) implements TokenizeRequest {}

    /// Messages to ids, as `/v1/chat/completions` would render them.
    record Chat(
            Optional<String> model,
            List<Map<String, @Nullable Object>> messages,
            List<Map<String, @Nullable Object>> tools,
            ChatRendering rendering,
            boolean withTokenTexts)
            implements TokenizeRequest {}

    /// Ids to text.
    record Ids(Optional<String> model, List<Integer> ids) {}

    /// How the template is asked to render.
    record ChatRendering(boolean generationPromptAdded, Map<String, @Nullable Object> templateArguments) {}

    static TokenizeRequest read(JsonFields fields) {
        Optional<String> model = fields.string("model");
        boolean tokenTexts = fields.bool("return_token_strs", false);
        fields.bool("add_special_tokens", true);
        if (fields.has("messages")) {
            if (fields.has("prompt")) {
                throw fields.invalid("prompt", "prompt: given beside messages (expected: only one of both)");
            }
            for (String name : List.of("continue_final_message", "chat_template")) {
                if (fields.has(name) && !Boolean.FALSE.equals(fields.value(name))) {
                    throw fields.notSupported(name, name + " is not supported.");
                }
            }
            Map<String, @Nullable Object> arguments = new LinkedHashMap<>();
            fields.object("chat_template_kwargs").ifPresent(extra -> arguments.putAll(extra.asMap()));
            return new Chat(
                    model,
                    ChatRequest.readMessages(fields),
                    ChatMessages.normaliseTools(fields.value("tools")),
                    new ChatRendering(fields.bool("add_generation_prompt", true), arguments),
                    tokenTexts);
        }
        return new Text(model, fields.requiredString("prompt"), tokenTexts);
    }

    static Ids readIds(JsonFields fields, int vocabularySize) {
        Optional<String> model = fields.string("model");
        if (!fields.has("tokens")) {
            throw fields.missing("tokens", "a list of token ids");
        }
        List<Integer> ids = new ArrayList<>();
        for (Object item : fields.list("tokens")) {
            ids.add((int) JsonFields.integer("tokens[" + ids.size() + "]", item, 0, vocabularySize - 1L));
        }
        return new Ids(model, List.copyOf(ids));
    }
}
