package io.millrace.gateway.request;

import io.millrace.gateway.json.JsonFields;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Known parameters of other servers that would change the answer and are not built: refused by name
/// unless they hold
/// the value that changes nothing. What else may be there: [KnownFields].
final class UnsupportedFields {
    /// Any value but null is refused, an empty list or object excepted.
    private static final List<String> ALWAYS = List.of(
            "logit_bias",
            "functions",
            "function_call",
            "audio",
            "web_search_options",
            "suffix",
            "prompt_logprobs",
            "bad_words",
            "allowed_token_ids",
            "truncate_prompt_tokens",
            "logits_processors",
            "structured_outputs",
            "guided_json",
            "guided_regex",
            "guided_choice",
            "guided_grammar",
            "chat_template",
            "documents",
            "mm_processor_kwargs",
            "cache_salt",
            "lora_path",
            "prompt_embeds");

    /// Refused unless equal to this neutral value.
    private static final Map<String, Object> NEUTRAL = Map.ofEntries(
            Map.entry("frequency_penalty", 0.0),
            Map.entry("presence_penalty", 0.0),
            Map.entry("repetition_penalty", 1.0),
            Map.entry("length_penalty", 1.0),
            Map.entry("min_tokens", 0.0),
            Map.entry("priority", 0.0),
            Map.entry("echo", false),
            Map.entry("use_beam_search", false),
            Map.entry("skip_special_tokens", true),
            Map.entry("spaces_between_special_tokens", true),
            Map.entry("add_generation_prompt", true),
            Map.entry("continue_final_message", false),
            Map.entry("return_token_ids", false),
            Map.entry("return_tokens_as_token_ids", false));

    private static final Set<String> TEXT_FORMATS = Set.of("text");

    private UnsupportedFields() {}

    /// Every parameter that is looked at here.
    static List<String> names() {
        List<String> names = new ArrayList<>(ALWAYS);
        names.addAll(NEUTRAL.keySet().stream().sorted().toList());
        names.addAll(List.of("response_format", "modalities", "best_of"));
        return names;
    }

    /// @param maxChoices  largest `n`
    static void check(JsonFields fields, int maxChoices) {
        for (String name : ALWAYS) {
            Object value = fields.value(name);
            boolean empty = (value instanceof List<?> list && list.isEmpty())
                    || (value instanceof Map<?, ?> map && map.isEmpty());
            if (value != null && !empty) {
                throw fields.notSupported(name, fields.pathOf(name) + " is not supported.");
            }
        }
        for (String name : fields.names()) {
            Object neutral = NEUTRAL.get(name);
            Object value = fields.value(name);
            if (neutral != null && value != null && !isNeutral(neutral, value)) {
                throw fields.notSupported(
                        name,
                        fields.pathOf(name) + " is not supported (expected: " + written(neutral) + " or absent).");
            }
        }
        checkFormat(fields);
        checkBestOf(fields, maxChoices);
    }

    private static boolean isNeutral(Object neutral, Object value) {
        // By value: to equals, -0.0 is another number than 0.0.
        if (neutral instanceof Double wanted && value instanceof Number number) {
            return number.doubleValue() == wanted;
        }
        return neutral.equals(value);
    }

    private static String written(Object neutral) {
        return neutral instanceof Double number ? String.valueOf(number.intValue()) : neutral.toString();
    }

    private static void checkFormat(JsonFields fields) {
        JsonFields format = fields.object("response_format").orElse(null);
        if (format != null) {
            String type = format.requiredString("type");
            if (!TEXT_FORMATS.contains(type)) {
                throw format.notSupported("type", "response_format.type other than \"text\" is not supported.");
            }
        }
        for (@Nullable Object modality : fields.list("modalities")) {
            if (!Objects.equals(modality, "text")) {
                throw fields.notSupported("modalities", "modalities other than \"text\" are not supported.");
            }
        }
    }

    private static void checkBestOf(JsonFields fields, int maxChoices) {
        long choices = fields.integer("n", 1, maxChoices).orElse(1);
        if (fields.integer("best_of", 1, maxChoices).orElse(choices) != choices) {
            throw fields.notSupported("best_of", "best_of other than n is not supported.");
        }
    }
}
