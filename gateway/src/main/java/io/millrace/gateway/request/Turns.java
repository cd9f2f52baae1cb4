package io.millrace.gateway.request;

import io.millrace.gateway.json.JsonFields;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/// Whether the messages of a conversation fit each other: an assistant says something or calls tools, and a
/// tool answers a call of the assistant message before it. What does not fit is a fault of the caller's
/// that the model would answer with nonsense.
final class Turns {
    private static final List<String> SAYINGS = List.of("content", "reasoning_content", "refusal");

    private Turns() {}

    /// @param messages  as they came, each known to be well formed
    /// @throws io.millrace.engine.error.MillraceException  `invalid_request`, naming the field
    static void check(List<JsonFields> messages) {
        List<JsonFields> calls = List.of();
        for (JsonFields message : messages) {
            switch (message.requiredString("role")) {
                case "assistant" -> {
                    calls = message.objects("tool_calls");
                    requireSaying(message, calls);
                }
                case "tool" -> requireCall(message, calls);
                default -> calls = List.of();
            }
        }
    }

    private static void requireSaying(JsonFields message, List<JsonFields> calls) {
        if (calls.isEmpty() && SAYINGS.stream().noneMatch(message::has)) {
            String found = message.names().contains("content") ? "null" : "missing";
            throw message.invalid(
                    "content",
                    message.pathOf("content") + ": " + found
                            + " (expected: text or a list of text parts, as the message has no tool_calls)");
        }
    }

    /// Calls without an id are answered in their order.
    private static void requireCall(JsonFields message, List<JsonFields> calls) {
        if (calls.isEmpty()) {
            throw message.invalid(
                    "role",
                    message.pathOf("role")
                            + ": \"tool\" (expected: only after an assistant message with tool_calls, or after another"
                            + " answer to them)");
        }
        Set<String> ids = new LinkedHashSet<>();
        calls.forEach(call -> call.string("id").ifPresent(ids::add));
        String id = message.string("tool_call_id").orElse(null);
        if (id != null && !ids.isEmpty() && !ids.contains(id)) {
            throw message.invalid(
                    "tool_call_id",
                    message.pathOf("tool_call_id") + ": " + JsonFields.shown(id)
                            + " (expected: the id of one of the tool_calls before it)");
        }
    }
}
