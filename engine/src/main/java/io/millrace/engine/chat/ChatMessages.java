package io.millrace.engine.chat;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.tokenizer.Tokenizer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Brings messages and tools of a request into the one form every template understands.
///
/// Null content becomes empty text, text parts are joined, argument text becomes an object, and null or
/// empty optional fields disappear. The role `developer` becomes `system`: it is the newer name of the
/// same role, and no published template of the family knows it. Unknown fields pass unchanged. Errors
/// name the field, e.g. `messages[2].content`.
public final class ChatMessages {
    private static final Set<String> ROLES = Set.of("system", "user", "assistant", "tool");
    private static final Set<String> TEXT_PARTS = Set.of("text", "input_text", "output_text", "refusal");
    private static final Set<String> MEDIA_PARTS = Set.of(
            "image",
            "image_url",
            "input_image",
            "audio",
            "audio_url",
            "input_audio",
            "video",
            "video_url",
            "input_video",
            "file",
            "input_file");

    private ChatMessages() {}

    /// Checks and normalises the messages of a request.
    ///
    /// @param messages  the request's `messages`, as parsed from JSON
    /// @throws MillraceException `INVALID_REQUEST` or `UNSUPPORTED_CONTENT`, naming the field
    public static List<Map<String, @Nullable Object>> normalise(@Nullable Object messages) {
        if (!(messages instanceof List<?> list)) {
            throw invalid("messages", Json.kind(messages), "a list of messages");
        }
        if (list.isEmpty()) {
            throw invalid("messages", "an empty list", "at least one message");
        }
        List<Map<String, @Nullable Object>> normalised = new ArrayList<>(list.size());
        for (int i = 0; i < list.size(); i++) {
            normalised.add(message(list.get(i), "messages[" + i + "]"));
        }
        return List.copyOf(normalised);
    }

    /// Checks and normalises the tool definitions of a request; null is no tools. JSON schemas pass
    /// unchanged.
    ///
    /// @param tools  the request's `tools`, as parsed from JSON
    /// @throws MillraceException `INVALID_REQUEST`, naming the field
    public static List<Map<String, @Nullable Object>> normaliseTools(@Nullable Object tools) {
        if (tools == null) {
            return List.of();
        }
        if (!(tools instanceof List<?> list)) {
            throw invalid("tools", Json.kind(tools), "a list of tools");
        }
        List<Map<String, @Nullable Object>> normalised = new ArrayList<>(list.size());
        for (int i = 0; i < list.size(); i++) {
            normalised.add(tool(list.get(i), "tools[" + i + "]"));
        }
        return List.copyOf(normalised);
    }

    private static Map<String, @Nullable Object> tool(@Nullable Object value, String param) {
        Map<String, @Nullable Object> tool = withoutNulls(object(value, param));
        Object type = tool.get("type");
        if (type != null && !type.equals("function")) {
            throw invalid(param + ".type", Json.show(type), "\"function\"");
        }
        if (tool.containsKey("function")) {
            Map<String, @Nullable Object> function = withoutNulls(object(tool.get("function"), param + ".function"));
            checkFunction(function, param + ".function");
            tool.put("function", function);
        } else {
            requireFunction(tool, param);
            checkFunction(tool, param);
        }
        return tool;
    }

    /// The short form has the function's fields in the object itself; without even a name it is none.
    private static void requireFunction(Map<String, @Nullable Object> object, String param) {
        if (!object.containsKey("name")) {
            throw invalid(param + ".function", "nothing", "an object with the function's name");
        }
    }

    private static void checkFunction(Map<String, @Nullable Object> function, String param) {
        if (!(function.get("name") instanceof String name) || name.isBlank()) {
            throw invalid(param + ".name", Json.kind(function.get("name")), "the function's name");
        }
        Object parameters = function.get("parameters");
        if (parameters != null && !(parameters instanceof Map<?, ?>)) {
            throw invalid(param + ".parameters", Json.kind(parameters), "a JSON schema object");
        }
    }

    private static Map<String, @Nullable Object> message(@Nullable Object value, String param) {
        Map<String, @Nullable Object> message = new LinkedHashMap<>(object(value, param));
        String role = role(message.get("role"), param + ".role");
        message.put("role", role);
        // Null is an empty text; of a misspelt field there would be nothing to see but a strange answer.
        if (!message.containsKey("content") && !role.equals("assistant")) {
            throw invalid(param + ".content", "missing", "text or a list of text parts");
        }
        message.put("content", content(message.get("content"), param + ".content"));
        message.values().removeIf(field -> field == null || (field instanceof List<?> list && list.isEmpty()));
        Object reasoning = message.get("reasoning_content");
        if (reasoning != null && !(reasoning instanceof String)) {
            throw invalid(param + ".reasoning_content", Json.kind(reasoning), "text");
        }
        Object calls = message.get("tool_calls");
        if (calls != null) {
            message.put("tool_calls", toolCalls(calls, param + ".tool_calls"));
        }
        return message;
    }

    private static String role(@Nullable Object role, String param) {
        if (!(role instanceof String name)) {
            throw invalid(param, Json.kind(role), "one of system, developer, user, assistant, tool");
        }
        String known = name.equals("developer") ? "system" : name;
        if (!ROLES.contains(known)) {
            throw invalid(param, Json.show(name), "one of system, developer, user, assistant, tool");
        }
        return known;
    }

    private static String content(@Nullable Object content, String param) {
        if (content == null) {
            return "";
        }
        if (content instanceof String text) {
            return text;
        }
        if (!(content instanceof List<?> parts)) {
            throw invalid(param, Json.kind(content), "text or a list of text parts");
        }
        StringBuilder joined = new StringBuilder();
        for (int i = 0; i < parts.size(); i++) {
            joined.append(part(parts.get(i), param + "[" + i + "]"));
        }
        return joined.toString();
    }

    private static String part(@Nullable Object value, String param) {
        Map<String, @Nullable Object> part = object(value, param);
        Object type = part.get("type");
        if (!(type instanceof String name)) {
            throw invalid(param + ".type", Json.kind(type), "\"text\"");
        }
        if (MEDIA_PARTS.contains(name)) {
            throw MillraceException.ofParam(
                    ErrorCode.UNSUPPORTED_CONTENT,
                    param,
                    param + ": a part of type " + Json.show(name)
                            + " (expected: \"text\", this model reads text only)");
        }
        if (!TEXT_PARTS.contains(name)) {
            throw invalid(param + ".type", Json.show(name), "\"text\"");
        }
        String field = name.equals("refusal") ? "refusal" : "text";
        Object text = part.get(field);
        if (text == null && part.containsKey(field)) {
            return "";
        }
        if (!(text instanceof String string)) {
            throw invalid(param + "." + field, Json.kind(text), "text");
        }
        return string;
    }

    private static List<Map<String, @Nullable Object>> toolCalls(Object calls, String param) {
        if (!(calls instanceof List<?> list)) {
            throw invalid(param, Json.kind(calls), "a list of tool calls");
        }
        List<Map<String, @Nullable Object>> normalised = new ArrayList<>(list.size());
        for (int i = 0; i < list.size(); i++) {
            normalised.add(toolCall(list.get(i), param + "[" + i + "]"));
        }
        return normalised;
    }

    private static Map<String, @Nullable Object> toolCall(@Nullable Object value, String param) {
        Map<String, @Nullable Object> call = withoutNulls(object(value, param));
        if (call.containsKey("function")) {
            String functionParam = param + ".function";
            call.put("function", calledFunction(object(call.get("function"), functionParam), functionParam));
            return call;
        }
        requireFunction(call, param);
        return calledFunction(call, param);
    }

    private static Map<String, @Nullable Object> calledFunction(Map<String, @Nullable Object> value, String param) {
        Map<String, @Nullable Object> function = withoutNulls(value);
        if (!(function.get("name") instanceof String)) {
            throw invalid(param + ".name", Json.kind(function.get("name")), "the function's name");
        }
        function.put("arguments", arguments(function.get("arguments"), param + ".arguments"));
        return function;
    }

    private static Object arguments(@Nullable Object arguments, String param) {
        if (arguments == null) {
            return Map.of();
        }
        if (arguments instanceof Map<?, ?> map) {
            return map;
        }
        if (!(arguments instanceof String text)) {
            throw invalid(param, Json.kind(arguments), "an object, or an object as JSON text");
        }
        if (text.isBlank()) {
            return Map.of();
        }
        Json.Parsed parsed = Json.read(text);
        if (parsed instanceof Json.Parsed.Value(Map<?, ?> map)) {
            requireWhole(map, param);
            return map;
        }
        String found = parsed instanceof Json.Parsed.BeyondLimits(String limit)
                ? "text beyond a limit: " + limit
                : "text that is no JSON object";
        throw invalid(param, found, "an object, or an object as JSON text");
    }

    /// An escape within the text can stand for half a character, of which the text itself shows nothing.
    private static void requireWhole(@Nullable Object value, String param) {
        switch (value) {
            case String text ->
                Tokenizer.halfCharacter(text).ifPresent(index -> {
                    String half = String.format(Locale.ROOT, "U+%04X", (int) text.charAt(index));
                    throw invalid(param, "half a surrogate pair, " + half, "whole characters");
                });
            case List<?> list -> list.forEach(item -> requireWhole(item, param));
            case Map<?, ?> map ->
                map.forEach((key, item) -> {
                    requireWhole(key, param);
                    requireWhole(item, param);
                });
            case null, default -> {
                // Numbers and words hold no characters.
            }
        }
    }

    private static Map<String, @Nullable Object> object(@Nullable Object value, String param) {
        if (!(value instanceof Map<?, ?> map)) {
            throw invalid(param, Json.kind(value), "an object");
        }
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        map.forEach((key, field) -> object.put(String.valueOf(key), field));
        return object;
    }

    private static Map<String, @Nullable Object> withoutNulls(Map<String, @Nullable Object> map) {
        Map<String, @Nullable Object> kept = new LinkedHashMap<>(map);
        kept.values().removeIf(field -> field == null);
        return kept;
    }

    private static MillraceException invalid(String param, String found, String expected) {
        return MillraceException.ofParam(
                ErrorCode.INVALID_REQUEST, param, param + ": " + found + " (expected: " + expected + ")");
    }
}
