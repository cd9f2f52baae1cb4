package io.millrace.it.rest;

import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/// Builds the answer from the chunks of a stream.
final class StreamFold {
    private final SortedMap<Integer, OpenChoice> choices = new TreeMap<>();
    private Answer.@Nullable Usage usage;
    private @Nullable JsonNode timings;

    private static final class OpenChoice {
        private final StringBuilder reasoning = new StringBuilder();
        private final StringBuilder content = new StringBuilder();
        private final List<StringBuilder> toolCalls = new ArrayList<>();
        private final List<String> logprobs = new ArrayList<>();
        private @Nullable String finishReason;

        Answer.Choice close() {
            return new Answer.Choice(
                    reasoning.toString(),
                    content.toString(),
                    toolCalls.stream().map(StringBuilder::toString).toList(),
                    List.copyOf(logprobs),
                    finishReason);
        }
    }

    void add(JsonNode chunk) {
        JsonNode error = chunk.get("error");
        if (error != null) {
            throw new StreamErrorException(error);
        }
        Answer.Usage counted = Answer.Usage.of(chunk.get("usage"));
        if (counted != null) {
            usage = counted;
            timings = chunk.get("timings");
        }
        if (chunk.has("text")) {
            open(0).content.append(chunk.required("text").asString());
        }
        for (JsonNode choice : chunk.path("choices")) {
            add(choice, open(choice.required("index").intValue()));
        }
    }

    private OpenChoice open(int index) {
        return choices.computeIfAbsent(index, i -> new OpenChoice());
    }

    private static void add(JsonNode choice, OpenChoice into) {
        if (into.finishReason != null) {
            throw new IllegalStateException("a chunk after its choice has ended: " + choice);
        }
        JsonNode delta = choice.path("delta");
        into.reasoning.append(delta.path("reasoning_content").asString(""));
        into.content
                .append(delta.path("content").asString(""))
                .append(choice.path("text").asString(""));
        for (JsonNode call : delta.path("tool_calls")) {
            int index = call.required("index").intValue();
            if (index == into.toolCalls.size()) {
                into.toolCalls.add(new StringBuilder());
            }
            JsonNode function = call.required("function");
            into.toolCalls
                    .get(index)
                    .append(function.path("name").asString(""))
                    .append(function.path("arguments").asString(""));
        }
        Answer.addLogprobs(choice.path("logprobs"), into.logprobs);
        JsonNode reason = choice.path("finish_reason");
        if (!reason.isNull()) {
            into.finishReason = reason.asString();
        }
    }

    Answer answer() {
        return new Answer(choices.values().stream().map(OpenChoice::close).toList(), usage, timings);
    }
}
