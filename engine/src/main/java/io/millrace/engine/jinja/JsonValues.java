package io.millrace.engine.jinja;

import io.millrace.engine.text.MarkedText;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/// JSON text as a template value. If anything of the text came from the caller, all texts in the value
/// did.
final class JsonValues {
    private static final JsonMapper MAPPER = JsonMapper.builder()
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .enable(DeserializationFeature.USE_BIG_INTEGER_FOR_INTS)
            .build();

    private JsonValues() {}

    static Value read(Text text, Budget budget) {
        budget.text(text.string().length());
        try {
            Object value = MAPPER.readValue(text.string(), Object.class);
            return JavaValues.of(text.hasCallerText() ? value : trusted(value), budget);
        } catch (JacksonException e) {
            throw JinjaException.runtime("from_json() of a text that is no JSON: " + e.getOriginalMessage());
        }
    }

    private static @Nullable Object trusted(@Nullable Object value) {
        return switch (value) {
            case String text -> MarkedText.trusted(text);
            case List<?> list -> list.stream().map(JsonValues::trusted).toList();
            case Map<?, ?> map -> {
                Map<@Nullable Object, @Nullable Object> copy = new LinkedHashMap<>();
                map.forEach((key, item) -> copy.put(trusted(key), trusted(item)));
                yield copy;
            }
            case null, default -> value;
        };
    }
}
