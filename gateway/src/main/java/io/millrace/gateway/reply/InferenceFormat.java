package io.millrace.gateway.reply;

import io.millrace.gateway.generation.ReplyEvent;
import io.millrace.gateway.generation.ReplyEvent.Delta;
import io.millrace.gateway.generation.ReplyEvent.Failed;
import io.millrace.gateway.generation.ReplyEvent.Finished;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// The system's own answer: `{"text","usage","timings"}`. The text is the answer without its reasoning.
/// A stream has
/// `{"text"}` for each piece and `{"text":"","usage","timings"}` at its end.
public final class InferenceFormat implements ReplyFormat {
    private final StringBuilder text = new StringBuilder();

    @Override
    public List<String> chunks(ReplyEvent event) {
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
        if (event instanceof Delta delta) {
            text.append(CompletionFormat.text(delta));
        }
    }

    @Override
    public String body(ReplySummary summary) {
        return json(text.toString(), summary);
    }

    private static String json(String text, ReplySummary summary) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("text", text);
        fields.put("usage", summary.usage());
        fields.put("timings", summary.timings());
        return ReplyHead.write(fields);
    }
}
