package io.millrace.gateway.reply;

import io.millrace.engine.chat.ReplyDelta;
import io.millrace.engine.chat.ReplyDelta.ContentDelta;
import io.millrace.gateway.generation.ReplyEvent;
import io.millrace.gateway.generation.ReplyEvent.Alternative;
import io.millrace.gateway.generation.ReplyEvent.Delta;
import io.millrace.gateway.generation.ReplyEvent.Ending;
import io.millrace.gateway.generation.ReplyEvent.Failed;
import io.millrace.gateway.generation.ReplyEvent.Finished;
import io.millrace.gateway.generation.ReplyEvent.LoggedToken;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// `text_completion`, whose stream has the same shape as its body.
public final class CompletionFormat implements ReplyFormat {
    private static final String OBJECT = "text_completion";

    private final ReplyHead head;
    private final boolean logprobsAsked;
    private final List<OpenChoice> choices = new ArrayList<>();

    public CompletionFormat(ReplyHead head, int choiceCount, boolean logprobsAsked) {
        this.head = head;
        this.logprobsAsked = logprobsAsked;
        for (int i = 0; i < choiceCount; i++) {
            choices.add(new OpenChoice());
        }
    }

    private static final class OpenChoice {
        private final StringBuilder text = new StringBuilder();
        private final Logprobs logprobs = new Logprobs();
        private int textOffset;
        private @Nullable Ending ending;
    }

    /// Parallel lists, one entry for each token.
    private static final class Logprobs {
        private final List<String> tokens = new ArrayList<>();
        private final List<Float> tokenLogprobs = new ArrayList<>();
        private final List<Map<String, Float>> topLogprobs = new ArrayList<>();
        private final List<Integer> textOffsets = new ArrayList<>();

        /// Adds tokens; returns where the next one's text begins.
        int add(List<LoggedToken> logged, int textOffset) {
            int offset = textOffset;
            for (LoggedToken token : logged) {
                Map<String, Float> top = new LinkedHashMap<>();
                top.put(token.token().text(), ChatFormat.finite(token.logprob()));
                for (Alternative alternative : token.top()) {
                    top.put(alternative.token().text(), ChatFormat.finite(alternative.logprob()));
                }
                tokens.add(token.token().text());
                tokenLogprobs.add(ChatFormat.finite(token.logprob()));
                topLogprobs.add(top);
                textOffsets.add(offset);
                offset += token.token().text().length();
            }
            return offset;
        }

        Map<String, @Nullable Object> json() {
            Map<String, @Nullable Object> json = new LinkedHashMap<>();
            json.put("text_offset", textOffsets);
            json.put("token_logprobs", tokenLogprobs);
            json.put("tokens", tokens);
            json.put("top_logprobs", topLogprobs);
            return json;
        }
    }

    @Override
    public List<String> chunks(ReplyEvent event) {
        return switch (event) {
            case Delta delta -> {
                OpenChoice choice = choices.get(delta.choice());
                Logprobs logprobs = new Logprobs();
                choice.textOffset = logprobs.add(delta.tokens(), choice.textOffset);
                yield List.of(
                        head.chunk(OBJECT, choice(delta.choice(), text(delta), logprobsAsked ? logprobs : null, null)));
            }
            case Finished finished ->
                List.of(head.chunk(OBJECT, choice(finished.choice(), "", null, finished.ending())));
            case Failed _ -> List.of();
        };
    }

    @Override
    public List<String> lastChunks(ReplySummary summary) {
        return head.usageIncluded() ? List.of(head.usageChunk(OBJECT, summary)) : List.of();
    }

    @Override
    public void fold(ReplyEvent event) {
        OpenChoice choice = choices.get(event.choice());
        switch (event) {
            case Delta delta -> {
                choice.text.append(text(delta));
                choice.textOffset = choice.logprobs.add(delta.tokens(), choice.textOffset);
            }
            case Finished finished -> choice.ending = finished.ending();
            case Failed _ -> {}
        }
    }

    @Override
    public String body(ReplySummary summary) {
        List<Map<String, @Nullable Object>> bodies = new ArrayList<>();
        for (OpenChoice choice : choices) {
            bodies.add(choice(
                    bodies.size(), choice.text.toString(), logprobsAsked ? choice.logprobs : null, choice.ending));
        }
        return head.body(OBJECT, bodies, summary);
    }

    static String text(Delta event) {
        StringBuilder text = new StringBuilder();
        for (ReplyDelta delta : event.deltas()) {
            if (delta instanceof ContentDelta(String more)) {
                text.append(more);
            }
        }
        return text.toString();
    }

    private static Map<String, @Nullable Object> choice(
            int index, String text, @Nullable Logprobs logprobs, @Nullable Ending ending) {
        Map<String, @Nullable Object> choice = new LinkedHashMap<>();
        choice.put("index", index);
        choice.put("text", text);
        choice.put("logprobs", logprobs == null ? null : logprobs.json());
        choice.put("finish_reason", ending == null ? null : ending.reason().wireName());
        if (ending != null) {
            choice.put("stop_reason", ending.stopString() != null ? ending.stopString() : ending.stopId());
        }
        return choice;
    }
}
