package io.millrace.gateway.request;

import io.millrace.gateway.json.JsonFields;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// What ends an answer besides its length.
///
/// @param ids             token ids the caller added
/// @param endTokensIgnored  go on after the model's own end tokens
/// @param keptInText      leave the text that stopped the answer in it
public record StopRules(List<String> strings, List<Integer> ids, boolean endTokensIgnored, boolean keptInText) {
    static final int MAX_STRINGS = 16;
    static final int MAX_STRING_LENGTH = 1024;
    static final int MAX_IDS = 256;

    static final StopRules NONE = new StopRules(List.of(), List.of(), false, false);

    public StopRules {
        strings = List.copyOf(strings);
        ids = List.copyOf(ids);
    }

    static StopRules read(JsonFields fields, int vocabularySize) {
        return new StopRules(
                readStrings(fields),
                readIds(fields, vocabularySize),
                fields.bool("ignore_eos", false),
                fields.bool("include_stop_str_in_output", false));
    }

    private static List<String> readStrings(JsonFields fields) {
        Object value = fields.value("stop");
        if (value == null) {
            return List.of();
        }
        if (!(value instanceof String || value instanceof List<?>)) {
            throw fields.wrongKind("stop", value, "a string or a list of up to " + MAX_STRINGS + " strings");
        }
        List<@Nullable Object> items = value instanceof String ? List.of(value) : fields.list("stop");
        if (items.size() > MAX_STRINGS) {
            throw fields.invalid("stop", "stop: " + items.size() + " strings (expected: at most " + MAX_STRINGS + ")");
        }
        List<String> strings = new ArrayList<>();
        for (Object item : items) {
            String name = value instanceof String ? "stop" : "stop[" + strings.size() + "]";
            if (!(item instanceof String text)) {
                throw fields.wrongKind(name, item, "a string");
            }
            if (text.isEmpty() || text.length() > MAX_STRING_LENGTH) {
                throw fields.invalid(
                        name, name + ": " + text.length() + " characters (expected: 1.." + MAX_STRING_LENGTH + ")");
            }
            strings.add(text);
        }
        return strings;
    }

    private static List<Integer> readIds(JsonFields fields, int vocabularySize) {
        List<@Nullable Object> items = fields.list("stop_token_ids");
        if (items.size() > MAX_IDS) {
            throw fields.invalid(
                    "stop_token_ids", "stop_token_ids: " + items.size() + " ids (expected: at most " + MAX_IDS + ")");
        }
        List<Integer> ids = new ArrayList<>();
        for (Object item : items) {
            ids.add((int) JsonFields.integer("stop_token_ids[" + ids.size() + "]", item, 0, vocabularySize - 1L));
        }
        return ids;
    }
}
