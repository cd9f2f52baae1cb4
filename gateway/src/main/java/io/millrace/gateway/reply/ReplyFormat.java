package io.millrace.gateway.reply;

import io.millrace.gateway.generation.ReplyEvent;
import java.util.List;

/// Writes one request's reply events in an endpoint's shape: either each as chunks of a stream, or all
/// as one body.
/// Both
/// come from the same events, so they cannot differ. One object per request; not thread-safe.
public interface ReplyFormat {
    /// Chunks of a stream for one event, as JSON; often none.
    List<String> chunks(ReplyEvent event);

    /// Chunks after the last choice ended, e.g. the usage.
    List<String> lastChunks(ReplySummary summary);

    /// Takes an event over into the body.
    void fold(ReplyEvent event);

    /// The body, once every choice ended.
    String body(ReplySummary summary);
}
