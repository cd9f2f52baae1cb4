package io.millrace.gateway.request;

import io.millrace.gateway.json.JsonFields;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/// Body of `POST /v1/completions`.
///
/// @param prompts  one or several; each has `n` choices, numbered through
public record CompletionRequest(Optional<String> model, List<Prompt> prompts, GenerationOptions options) {

    /// A prompt, as text or already as token ids.
    public sealed interface Prompt {
        record Text(String text) implements Prompt {}

        record Ids(List<Integer> ids) implements Prompt {}
    }

    public static CompletionRequest read(JsonFields fields, GenerationOptions.Limits limits) {
        UnsupportedFields.check(fields, limits.maxChoices());
        Optional<String> model = fields.string("model");
        List<Prompt> prompts = readPrompts(fields, limits.vocabularySize());
        var logprobs = fields.integer("logprobs", 0, SamplingOptions.MAX_TOP_LOGPROBS);
        OptionalInt topLogprobs =
                logprobs.isPresent() ? OptionalInt.of((int) logprobs.getAsLong()) : OptionalInt.empty();
        GenerationOptions options = GenerationOptions.read(fields, limits, topLogprobs);
        if ((long) prompts.size() * options.choices() > limits.maxChoices()) {
            throw fields.invalid(
                    "prompt",
                    "prompt: " + prompts.size() + " prompts with n=" + options.choices() + " (expected: at most "
                            + limits.maxChoices() + " choices in all)");
        }
        return new CompletionRequest(model, prompts, options);
    }

    private static List<Prompt> readPrompts(JsonFields fields, int vocabularySize) {
        Object value = fields.value("prompt");
        if (value == null) {
            throw fields.missing("prompt", "a string, a list of strings or token ids");
        }
        if (value instanceof String text) {
            return List.of(readText("prompt", text, fields));
        }
        if (!(value instanceof List<?>)) {
            throw fields.wrongKind("prompt", value, "a string, a list of strings or token ids");
        }
        List<@Nullable Object> items = fields.list("prompt");
        if (items.isEmpty()) {
            throw fields.invalid("prompt", "prompt: an empty list (expected: at least one prompt)");
        }
        if (items.getFirst() instanceof Number) {
            return List.of(readIds("prompt", items, vocabularySize));
        }
        List<Prompt> prompts = new ArrayList<>();
        for (Object item : items) {
            String name = "prompt[" + prompts.size() + "]";
            prompts.add(
                    switch (item) {
                        case String text -> readText(name, text, fields);
                        case List<?> ids
                        when ids.isEmpty() ->
                            throw fields.invalid(name, name + ": an empty list (expected: at least one token id)");
                        case List<?> ids -> readIds(name, ids, vocabularySize);
                        case null, default -> throw fields.wrongKind(name, item, "a string or a list of token ids");
                    });
        }
        return prompts;
    }

    private static Prompt readText(String name, String text, JsonFields fields) {
        if (text.isEmpty()) {
            throw fields.invalid(name, name + ": empty (expected: at least one token)");
        }
        return new Prompt.Text(text);
    }

    private static Prompt readIds(String name, List<?> items, int vocabularySize) {
        List<Integer> ids = new ArrayList<>(items.size());
        for (Object item : items) {
            ids.add((int) JsonFields.integer(name + "[" + ids.size() + "]", item, 0, vocabularySize - 1L));
        }
        return new Prompt.Ids(List.copyOf(ids));
    }
}
