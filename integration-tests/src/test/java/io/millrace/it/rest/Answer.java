package io.millrace.it.rest;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/// What a caller cares about in an answer, whether it came whole or as a stream. Ids and times are left
/// out.
///
/// @param usage    null if the answer has none
/// @param timings  the answer's receipt, not compared
public record Answer(
        List<Choice> choices,
        @Nullable Usage usage,
        @Nullable JsonNode timings) {

    /// One choice.
    ///
    /// @param toolCalls  name and arguments of each
    /// @param logprobs   as they were written
    public record Choice(
            String reasoning,
            String content,
            List<String> toolCalls,
            List<String> logprobs,
            @Nullable String finishReason) {}

    /// OpenAI's `usage`.
    public record Usage(int promptTokens, int completionTokens, int cachedTokens) {
        static @Nullable Usage of(@Nullable JsonNode usage) {
            if (usage == null || usage.isNull()) {
                return null;
            }
            return new Usage(
                    usage.required("prompt_tokens").intValue(),
                    usage.required("completion_tokens").intValue(),
                    usage.required("prompt_tokens_details")
                            .required("cached_tokens")
                            .intValue());
        }
    }

    /// Usage, which must be there.
    public Usage counted() {
        if (usage == null) {
            throw new IllegalStateException("the answer has no usage");
        }
        return usage;
    }

    /// All text of the first choice.
    public String text() {
        Choice first = choices.getFirst();
        return first.reasoning() + first.content() + first.toolCalls();
    }

    /// The answer's receipt, which must be there.
    public JsonNode receipt() {
        if (timings == null) {
            throw new IllegalStateException("the answer has no timings");
        }
        return timings;
    }

    /// Names of the instances of a service that took part.
    public List<String> instances(String service) {
        List<String> names = new ArrayList<>();
        receipt().required("services").required(service).forEach(name -> names.add(name.asString()));
        return names;
    }

    /// Whether the prompt's blocks went through kv-cache-service.
    public boolean passedCache() {
        return receipt().required("services").required("kv_cache").booleanValue();
    }

    static Answer ofBody(JsonNode body) {
        List<Choice> choices = new ArrayList<>();
        if (body.has("text")) {
            choices.add(new Choice("", body.required("text").asString(), List.of(), List.of(), null));
        }
        for (JsonNode choice : body.path("choices")) {
            JsonNode message = choice.path("message");
            List<String> calls = new ArrayList<>();
            for (JsonNode call : message.path("tool_calls")) {
                JsonNode function = call.required("function");
                calls.add(function.required("name").asString()
                        + function.required("arguments").asString());
            }
            List<String> logprobs = new ArrayList<>();
            addLogprobs(choice.path("logprobs"), logprobs);
            choices.add(new Choice(
                    message.path("reasoning_content").asString(""),
                    message.path("content").asString("") + choice.path("text").asString(""),
                    calls,
                    logprobs,
                    choice.required("finish_reason").asString()));
        }
        return new Answer(choices, Usage.of(body.get("usage")), body.get("timings"));
    }

    /// Entries of either endpoint's form, one for each token.
    static void addLogprobs(JsonNode logprobs, List<String> entries) {
        logprobs.path("content").forEach(entry -> entries.add(entry.toString()));
        JsonNode tokens = logprobs.path("tokens");
        for (int i = 0; i < tokens.size(); i++) {
            entries.add(
                    tokens.get(i) + " " + logprobs.required("token_logprobs").get(i) + " "
                            + logprobs.required("top_logprobs").get(i) + " "
                            + logprobs.required("text_offset").get(i));
        }
    }
}
