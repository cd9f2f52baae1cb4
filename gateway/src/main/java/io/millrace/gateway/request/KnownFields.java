package io.millrace.gateway.request;

import io.millrace.engine.error.NearestName;
import io.millrace.gateway.json.JsonFields;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Which fields a request may have. One that nobody knows is refused if it is near to a known one: a slip
/// of the pen would give another answer than was asked for. Any other unknown field is ignored, since
/// clients of other servers send their own, and named in the answer's header.
public final class KnownFields {
    private static final List<String> GENERATION = List.of(
            "model",
            "temperature",
            "top_k",
            "top_p",
            "min_p",
            "seed",
            "stop",
            "stop_token_ids",
            "ignore_eos",
            "include_stop_str_in_output",
            "max_tokens",
            "max_completion_tokens",
            "logprobs",
            "n",
            "enable_mtp",
            "stream",
            "stream_options");
    private static final List<String> CHAT = List.of(
            "messages", "tools", "tool_choice", "top_logprobs", "reasoning_effort", "thinking", "chat_template_kwargs");
    private static final List<String> COMPLETION = List.of("prompt");

    /// Accepted without effect and without a word, by the reason why that changes no answer.
    private static final Map<String, List<String>> IGNORED = new TreeMap<>(Map.of(
            "names the caller or asks for a record, and none is kept",
            List.of("user", "safety_identifier", "metadata", "store", "request_id", "rid"),
            "says how a hosted service is to schedule, pay or cache",
            List.of("service_tier", "prompt_cache_key", "prompt_cache_retention"),
            "is a hint, with which and without which the same answers are right",
            List.of("parallel_tool_calls", "prediction", "verbosity"),
            "asks for what is done anyway",
            List.of("include_reasoning", "separate_reasoning", "stream_reasoning", "add_special_tokens"),
            "says how to do what is refused itself",
            List.of("guided_decoding_backend", "guided_whitespace_pattern")));

    /// Fields of other servers that look like one of these and are no slip of the pen.
    private static final Set<String> FOREIGN = Set.of("models", "top_a", "top_n");

    private static final List<String> STREAM_OPTIONS =
            List.of("include_usage", "continuous_usage_stats", "include_obfuscation");
    private static final List<String> TOKENIZE = List.of(
            "model",
            "prompt",
            "messages",
            "tools",
            "chat_template_kwargs",
            "add_generation_prompt",
            "continue_final_message",
            "chat_template",
            "add_special_tokens",
            "return_token_strs");
    private static final List<String> DETOKENIZE = List.of("model", "tokens");
    private static final Set<String> ALL = all(Stream.of(CHAT, COMPLETION));
    private static final Set<String> OF_CHAT = all(Stream.of(CHAT));
    private static final Set<String> OF_COMPLETION = all(Stream.of(COMPLETION));
    private static final Set<String> WITHOUT_EFFECT =
            IGNORED.values().stream().flatMap(List::stream).collect(Collectors.toUnmodifiableSet());
    private static final int MAX_EXAMINED = 16;

    private KnownFields() {}

    private static Set<String> all(Stream<List<String>> own) {
        Set<String> names = new LinkedHashSet<>(GENERATION);
        own.forEach(names::addAll);
        names.addAll(UnsupportedFields.names());
        IGNORED.values().forEach(names::addAll);
        return names;
    }

    /// Fields of a chat request that nobody knows, up to 16.
    ///
    /// @throws io.millrace.engine.error.MillraceException  `invalid_request` for a misspelt one
    public static List<String> unknownOfChat(JsonFields fields) {
        return unknown(fields, OF_CHAT);
    }

    /// Fields of a completion request that nobody knows, up to 16.
    ///
    /// @throws io.millrace.engine.error.MillraceException  `invalid_request` for a misspelt one
    public static List<String> unknownOfCompletion(JsonFields fields) {
        return unknown(fields, OF_COMPLETION);
    }

    /// Fields of a body of `/tokenize` that have no effect, up to 16, those included that other endpoints
    /// read.
    ///
    /// @throws io.millrace.engine.error.MillraceException  `invalid_request` for a misspelt one
    public static List<String> unknownOfTokenize(JsonFields fields) {
        return unknownOf(fields, TOKENIZE);
    }

    /// Fields of a body of `/detokenize` that have no effect, as [#unknownOfTokenize].
    ///
    /// @throws io.millrace.engine.error.MillraceException  `invalid_request` for a misspelt one
    public static List<String> unknownOfDetokenize(JsonFields fields) {
        return unknownOf(fields, DETOKENIZE);
    }

    private static List<String> unknownOf(JsonFields fields, List<String> known) {
        List<String> unknown = new ArrayList<>();
        for (String name : fields.names()) {
            boolean isSilent = known.contains(name) || WITHOUT_EFFECT.contains(name);
            if (unknown.size() < MAX_EXAMINED && !isSilent && fields.has(name)) {
                if (!ALL.contains(name) && !FOREIGN.contains(name)) {
                    requireSpelt(fields, name, known);
                }
                unknown.add(shown(name));
            }
        }
        return unknown;
    }

    private static List<String> unknown(JsonFields fields, Set<String> known) {
        List<String> unknown = new ArrayList<>();
        for (String name : fields.names()) {
            if (unknown.size() < MAX_EXAMINED && !known.contains(name) && fields.has(name)) {
                if (!ALL.contains(name) && !FOREIGN.contains(name)) {
                    requireSpelt(fields, name, ALL);
                }
                unknown.add(shown(name));
            }
        }
        if (fields.value("stream_options") instanceof Map<?, ?>) {
            fields.object("stream_options").ifPresent(KnownFields::requireSpelt);
        }
        return unknown;
    }

    private static void requireSpelt(JsonFields streamOptions) {
        int examined = 0;
        for (String name : streamOptions.names()) {
            if (examined++ < MAX_EXAMINED && !STREAM_OPTIONS.contains(name) && streamOptions.has(name)) {
                requireSpelt(streamOptions, name, STREAM_OPTIONS);
            }
        }
    }

    private static void requireSpelt(JsonFields fields, String name, Collection<String> known) {
        Optional<String> meant = NearestName.of(name, known);
        if (meant.isPresent()) {
            String shown = shown(name);
            throw fields.invalid(
                    shown, fields.pathOf(shown) + ": unknown field (expected: " + fields.pathOf(meant.get()) + ")");
        }
    }

    /// Fit for a header and a message: ASCII letters, digits, `_`, `.` and `-`, all else replaced by `?`; quotes for
    /// a name that is empty.
    static String shown(String name) {
        if (name.isEmpty()) {
            return "\"\"";
        }
        String cut = name.length() <= 64 ? name : name.substring(0, 64);
        return cut.replaceAll("[^A-Za-z0-9_.-]", "?");
    }
}
