package io.millrace.gateway.reply;

import io.millrace.engine.chat.ReplyDelta;
import io.millrace.engine.chat.ReplyDelta.ReasoningDelta;
import io.millrace.gateway.generation.ReplyEvent;
import io.millrace.gateway.generation.ReplyEvent.Delta;
import io.millrace.gateway.generation.ReplyEvent.Ending;
import io.millrace.gateway.generation.ReplyEvent.Failed;
import io.millrace.gateway.generation.ReplyEvent.Finished;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// The system's own answer: `{"text","reasoning_content","finish_reason","usage","timings"}`. The text is the
/// answer without its reasoning, which is a field of its own where there is any. A stream has `{"text"}` for
/// each piece, and the other fields, beside an empty text, at its end.
public final class InferenceFormat implements ReplyFormat {
    private final StringBuilder text = new StringBuilder();
    private final StringBuilder reasoning = new StringBuilder();
    private @Nullable Ending ending;

    @Override
    public List<String> chunks(ReplyEvent event) {
        keep(event);
        return switch (event) {
            case Delta delta -> {
                String more = CompletionFormat.text(delta);
                yield more.isEmpty() ? List.of() : List.of(ReplyHead.write(Map.of("text", more)));
            }
            case Finished _, Failed _ -> List.of();
        };
    }

    @Override
    public List<String> lastChunks(ReplySummary summary) {
        return List.of(json("", summary));
    }

    @Override
    public void fold(ReplyEvent event) {
        keep(event);
        if (event instanceof Delta delta) {
            text.append(CompletionFormat.text(delta));
        }
    }

    /// What says why a text is empty: all of it was reasoning, or nothing came.
    private void keep(ReplyEvent event) {
        switch (event) {
            case Delta delta -> {
                for (ReplyDelta part : delta.deltas()) {
                    if (part instanceof ReasoningDelta(String more)) {
                        reasoning.append(more);
                    }
                }
            }
            case Finished finished -> ending = finished.ending();
            case Failed _ -> {}
        }
    }

    @Override
    public String body(ReplySummary summary) {
        return json(text.toString(), summary);
    }

    private String json(String text, ReplySummary summary) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("text", text);
        if (!reasoning.isEmpty()) {
            fields.put("reasoning_content", reasoning.toString());
        }
        fields.put("finish_reason", ending == null ? null : ending.reason().wireName());
        fields.put("usage", summary.usage());
        fields.put("timings", summary.timings());
        return ReplyHead.write(fields);
    }
}
