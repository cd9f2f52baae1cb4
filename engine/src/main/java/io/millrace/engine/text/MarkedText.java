package io.millrace.engine.text;

import java.util.ArrayList;
import java.util.List;

/// A rendered prompt that remembers which parts the chat template wrote itself and which came from the caller, so that
/// control tokens spelled inside a message stay plain text.
///
/// @param spans  adjacent pieces, in order; neighbours differ in origin, none is empty
public record MarkedText(List<Span> spans) {

    /// A piece of text of one origin.
    ///
    /// @param fromCaller  whether a caller wrote it: added tokens are not recognised in it
    public record Span(String text, boolean fromCaller) {}

    public MarkedText {
        List<Span> merged = new ArrayList<>();
        for (Span span : spans) {
            if (span.text().isEmpty()) {
                continue;
            }
            if (!merged.isEmpty() && merged.getLast().fromCaller() == span.fromCaller()) {
                Span last = merged.removeLast();
                merged.add(new Span(last.text() + span.text(), span.fromCaller()));
            } else {
                merged.add(span);
            }
        }
        spans = List.copyOf(merged);
    }

    /// Text whose added tokens are recognised.
    public static MarkedText trusted(String text) {
        return new MarkedText(List.of(new Span(text, false)));
    }

    /// Text in which no added token is recognised.
    public static MarkedText fromCaller(String text) {
        return new MarkedText(List.of(new Span(text, true)));
    }

    /// The whole text.
    public String text() {
        StringBuilder text = new StringBuilder();
        for (Span span : spans) {
            text.append(span.text());
        }
        return text.toString();
    }
}
