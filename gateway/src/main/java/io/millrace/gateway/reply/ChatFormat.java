package io.millrace.gateway.reply;

import io.millrace.engine.chat.ChatReply;
import io.millrace.engine.chat.ReplyDelta;
import io.millrace.engine.chat.ReplyDelta.ContentDelta;
import io.millrace.engine.chat.ReplyDelta.ReasoningDelta;
import io.millrace.engine.chat.ReplyDelta.ToolCallArguments;
import io.millrace.engine.chat.ReplyDelta.ToolCallEnd;
import io.millrace.engine.chat.ReplyDelta.ToolCallStart;
import io.millrace.gateway.generation.ReplyEvent;
import io.millrace.gateway.generation.ReplyEvent.Alternative;
import io.millrace.gateway.generation.ReplyEvent.Delta;
import io.millrace.gateway.generation.ReplyEvent.Ending;
import io.millrace.gateway.generation.ReplyEvent.Failed;
import io.millrace.gateway.generation.ReplyEvent.Finished;
import io.millrace.gateway.generation.ReplyEvent.LoggedToken;
import io.millrace.gateway.generation.ReplyEvent.Part;
import io.millrace.gateway.generation.ReplyEvent.TokenText;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// `chat.completion` and `chat.completion.chunk`.
///
/// There is no chunk with only the role: the role comes with the first text, so that a client that
/// measures the time to
/// the first chunk measures the time to the first token. The last chunk of a choice has an empty delta
/// and its
/// `finish_reason`.
public final class ChatFormat implements ReplyFormat {
    private static final String CHUNK = "chat.completion.chunk";

    private final ReplyHead head;
    private final boolean logprobsAsked;
    private final List<OpenChoice> choices = new ArrayList<>();

    public ChatFormat(ReplyHead head, int choiceCount, boolean logprobsAsked) {
        this.head = head;
        this.logprobsAsked = logprobsAsked;
        for (int i = 0; i < choiceCount; i++) {
            choices.add(new OpenChoice());
        }
    }

    private static final class OpenChoice {
        private boolean roleSent;
        private final ChatReply.Fold reply = new ChatReply.Fold();
        private final List<Map<String, @Nullable Object>> logprobs = new ArrayList<>();
        private @Nullable Ending ending;
    }

    @Override
    public List<String> chunks(ReplyEvent event) {
        OpenChoice choice = choices.get(event.choice());
        return switch (event) {
            case Delta delta -> chunks(delta, choice);
            case Finished finished -> lastChunks(finished, choice);
            case Failed _ -> List.of();
        };
    }

    private List<String> chunks(Delta event, OpenChoice choice) {
        List<String> chunks = new ArrayList<>();
        for (Part part : event.parts()) {
            List<LoggedToken> tokens = part.tokens();
            for (Map<String, @Nullable Object> fields : fields(part)) {
                chunks.add(chunk(event.choice(), withRole(fields, choice), tokens, null));
                tokens = List.of();
            }
        }
        return chunks;
    }

    /// Fields of the chunks of a part; the first of them carries its tokens.
    private static List<Map<String, @Nullable Object>> fields(Part part) {
        List<Map<String, @Nullable Object>> all = new ArrayList<>();
        for (ReplyDelta delta : part.deltas()) {
            Map<String, @Nullable Object> fields = new LinkedHashMap<>();
            switch (delta) {
                case ReasoningDelta(String text) -> fields.put("reasoning_content", text);
                case ContentDelta(String text) -> fields.put("content", text);
                case ToolCallStart(int index, String id, String name) ->
                    fields.put("tool_calls", List.of(call(index, id, name, "")));
                case ToolCallArguments(int index, String text) ->
                    fields.put("tool_calls", List.of(moreArguments(index, text)));
                case ToolCallEnd _ -> {}
            }
            if (!fields.isEmpty()) {
                all.add(fields);
            }
        }
        if (all.isEmpty() && !part.tokens().isEmpty()) {
            all.add(new LinkedHashMap<>());
        }
        return all;
    }

    private static Map<String, Object> moreArguments(int index, String text) {
        Map<String, Object> call = new LinkedHashMap<>();
        call.put("index", index);
        call.put("function", Map.of("arguments", text));
        return call;
    }

    private static Map<String, Object> call(int index, String id, String name, String arguments) {
        Map<String, Object> call = new LinkedHashMap<>();
        call.put("index", index);
        call.put("id", id);
        call.put("type", "function");
        Map<String, Object> function = new LinkedHashMap<>();
        function.put("name", name);
        function.put("arguments", arguments);
        call.put("function", function);
        return call;
    }

    private static Map<String, @Nullable Object> withRole(Map<String, @Nullable Object> delta, OpenChoice choice) {
        if (choice.roleSent) {
            return delta;
        }
        choice.roleSent = true;
        Map<String, @Nullable Object> first = new LinkedHashMap<>();
        first.put("role", "assistant");
        first.putAll(delta);
        return first;
    }

    private List<String> lastChunks(Finished finished, OpenChoice choice) {
        List<String> chunks = new ArrayList<>();
        if (!choice.roleSent) {
            Map<String, @Nullable Object> nothing = new LinkedHashMap<>();
            nothing.put("content", "");
            chunks.add(chunk(finished.choice(), withRole(nothing, choice), List.of(), null));
        }
        chunks.add(chunk(finished.choice(), Map.of(), List.of(), finished.ending()));
        return chunks;
    }

    private String chunk(
            int index, Map<String, @Nullable Object> delta, List<LoggedToken> tokens, @Nullable Ending ending) {
        Map<String, @Nullable Object> choice = new LinkedHashMap<>();
        choice.put("index", index);
        choice.put("delta", delta);
        choice.put("logprobs", logprobsAsked && ending == null ? logprobs(logged(tokens)) : null);
        putEnding(choice, ending);
        return head.chunk(CHUNK, choice);
    }

    private static void putEnding(Map<String, @Nullable Object> choice, @Nullable Ending ending) {
        choice.put("finish_reason", ending == null ? null : ending.reason().wireName());
        if (ending != null) {
            // vLLM's field: what stopped the answer, where it was the caller's own stop.
            choice.put("stop_reason", ending.stopString() != null ? ending.stopString() : ending.stopId());
        }
    }

    @Override
    public List<String> lastChunks(ReplySummary summary) {
        return head.usageIncluded() ? List.of(head.usageChunk(CHUNK, summary)) : List.of();
    }

    @Override
    public void fold(ReplyEvent event) {
        OpenChoice choice = choices.get(event.choice());
        switch (event) {
            case Delta delta -> {
                choice.reply.add(delta.deltas());
                choice.logprobs.addAll(logged(delta.tokens()));
            }
            case Finished finished -> choice.ending = finished.ending();
            case Failed _ -> {}
        }
    }

    @Override
    public String body(ReplySummary summary) {
        List<Map<String, @Nullable Object>> bodies = new ArrayList<>();
        for (OpenChoice choice : choices) {
            Map<String, @Nullable Object> body = new LinkedHashMap<>();
            body.put("index", bodies.size());
            body.put("message", message(choice.reply.reply()));
            body.put("logprobs", logprobsAsked ? logprobs(choice.logprobs) : null);
            putEnding(body, choice.ending);
            bodies.add(body);
        }
        return head.body("chat.completion", bodies, summary);
    }

    private static Map<String, @Nullable Object> message(ChatReply reply) {
        Map<String, @Nullable Object> message = new LinkedHashMap<>();
        message.put("role", "assistant");
        boolean onlyCalls = reply.content().isEmpty() && !reply.toolCalls().isEmpty();
        message.put("content", onlyCalls ? null : reply.content());
        if (!reply.reasoning().isEmpty()) {
            message.put("reasoning_content", reply.reasoning());
        }
        if (!reply.toolCalls().isEmpty()) {
            List<Map<String, Object>> calls = new ArrayList<>();
            for (ChatReply.ToolCall toolCall : reply.toolCalls()) {
                Map<String, Object> call = call(calls.size(), toolCall.id(), toolCall.name(), toolCall.arguments());
                call.remove("index");
                calls.add(call);
            }
            message.put("tool_calls", calls);
        }
        return message;
    }

    private static Map<String, @Nullable Object> logprobs(List<Map<String, @Nullable Object>> content) {
        Map<String, @Nullable Object> logprobs = new LinkedHashMap<>();
        logprobs.put("content", content);
        return logprobs;
    }

    private static List<Map<String, @Nullable Object>> logged(List<LoggedToken> tokens) {
        List<Map<String, @Nullable Object>> entries = new ArrayList<>();
        for (LoggedToken token : tokens) {
            Map<String, @Nullable Object> entry = entry(token.token(), token.logprob());
            List<Map<String, @Nullable Object>> top = new ArrayList<>();
            for (Alternative alternative : token.top()) {
                top.add(entry(alternative.token(), alternative.logprob()));
            }
            entry.put("top_logprobs", top);
            entries.add(entry);
        }
        return entries;
    }

    private static Map<String, @Nullable Object> entry(TokenText token, float logprob) {
        Map<String, @Nullable Object> entry = new LinkedHashMap<>();
        entry.put("token", token.text());
        entry.put("logprob", finite(logprob));
        entry.put("bytes", token.bytes());
        return entry;
    }

    /// JSON has no infinity; OpenAI writes −9999 for "as good as impossible".
    static float finite(float logprob) {
        return Math.max(logprob, -9999f);
    }
}
