package io.millrace.gateway.reply;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/// What every chunk and body of a request begins with.
///
/// @param usageIncluded  whether a stream ends with a usage chunk
public record ReplyHead(String id, long createdSeconds, String model, boolean usageIncluded) {
    private static final JsonMapper MAPPER = JsonMapper.shared();

    /// A chunk of a stream with one choice.
    String chunk(String object, Map<String, @Nullable Object> choice) {
        Map<String, @Nullable Object> chunk = open(object);
        chunk.put("choices", List.of(choice));
        if (usageIncluded) {
            chunk.put("usage", null);
        }
        return write(chunk);
    }

    /// The usage chunk, which has no choice.
    String usageChunk(String object, ReplySummary summary) {
        Map<String, @Nullable Object> chunk = open(object);
        chunk.put("choices", List.of());
        chunk.put("usage", summary.usage());
        chunk.put("timings", summary.timings());
        return write(chunk);
    }

    String body(String object, List<Map<String, @Nullable Object>> choices, ReplySummary summary) {
        Map<String, @Nullable Object> body = open(object);
        body.put("choices", choices);
        body.put("usage", summary.usage());
        body.put("timings", summary.timings());
        return write(body);
    }

    private Map<String, @Nullable Object> open(String object) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("id", id);
        fields.put("object", object);
        fields.put("created", createdSeconds);
        fields.put("model", model);
        return fields;
    }

    static String write(Map<String, @Nullable Object> fields) {
        return MAPPER.writeValueAsString(fields);
    }
}
