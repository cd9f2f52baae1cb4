package io.millrace.gateway.request;

import io.millrace.gateway.json.JsonFields;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;

/// Body of `POST /inference`, the system's own endpoint: `prompt`, `max_tokens`, `temperature`,
/// `enable_mtp`, and
/// optionally `stream`. Any other field is an error.
public record InferenceRequest(String prompt, GenerationOptions options) {
    private static final Set<String> FIELDS = Set.of("prompt", "max_tokens", "temperature", "enable_mtp", "stream");

    public static InferenceRequest read(JsonFields fields, GenerationOptions.Limits limits) {
        for (String name : fields.names()) {
            if (!FIELDS.contains(name)) {
                String shown = KnownFields.shown(name);
                throw fields.invalid(
                        shown,
                        shown + ": unknown field (expected: prompt, max_tokens, temperature, enable_mtp or stream)");
            }
        }
        String prompt = fields.requiredString("prompt");
        if (prompt.isEmpty()) {
            throw fields.invalid("prompt", "prompt: empty (expected: text)");
        }
        SamplingOptions sampling = SamplingOptions.read(fields, limits.defaults(), OptionalInt.empty());
        boolean stream = fields.bool("stream", false);
        GenerationOptions options = new GenerationOptions(
                sampling,
                OptionalLong.empty(),
                StopRules.NONE,
                GenerationOptions.maxTokens(fields),
                1,
                fields.bool("enable_mtp", false),
                new GenerationOptions.StreamOptions(stream, stream));
        return new InferenceRequest(prompt, options);
    }
}
