package io.millrace.engine.jinja;

import io.millrace.engine.text.MarkedText;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// A string that knows which of its characters came from the caller.
///
/// Origins are kept as the places where they change: text before the first place is the template's own,
/// then the caller's, and so on in turn. Length and indices as templates see them count code points.
final class Text implements Value {
    private static final int[] TEMPLATE = {};
    private static final int[] CALLER = {0};
    static final Text EMPTY = new Text("", TEMPLATE, false);

    private final String string;
    private final int[] changes;
    private final boolean safe;

    /// @param changes  ascending places where the origin changes, in `char`s, each below the length
    /// @param safe     whether it went through the filter `safe`: what is added to it gets HTML-escaped
    Text(String string, int[] changes, boolean safe) {
        this.string = string;
        this.changes = changes;
        this.safe = safe;
    }

    /// Text of the template.
    static Text of(String string) {
        return new Text(string, TEMPLATE, false);
    }

    /// Text of the caller.
    static Text fromCaller(String string) {
        return new Text(string, string.isEmpty() ? TEMPLATE : CALLER, false);
    }

    static Text of(MarkedText marked, Budget budget) {
        TextBuilder builder = new TextBuilder(budget);
        for (MarkedText.Span span : marked.spans()) {
            builder.append(span.fromCaller() ? fromCaller(span.text()) : of(span.text()));
        }
        return builder.toText();
    }

    String string() {
        return string;
    }

    boolean isEmpty() {
        return string.isEmpty();
    }

    boolean isSafe() {
        return safe;
    }

    Text withSafe(boolean flag) {
        return flag == safe ? this : new Text(string, changes, flag);
    }

    /// Other characters, as many as these, of the same origin place by place.
    Text withCharacters(String replaced) {
        return new Text(replaced, changes, safe);
    }

    boolean hasCallerText() {
        return changes.length > 0;
    }

    boolean isFromCaller(int index) {
        int place = Arrays.binarySearch(changes, index);
        int changesUpTo = place >= 0 ? place + 1 : -place - 1;
        return (changesUpTo & 1) == 1;
    }

    int[] changes() {
        return changes;
    }

    /// Number of code points.
    int length() {
        return string.codePointCount(0, string.length());
    }

    private boolean isFlat() {
        return length() == string.length();
    }

    /// The part between two places counted in `char`s.
    Text part(int from, int to) {
        if (from == 0 && to == string.length()) {
            return this;
        }
        if (changes.length == 0 || from >= to) {
            return new Text(from >= to ? "" : string.substring(from, to), TEMPLATE, safe);
        }
        int[] kept = new int[changes.length + 1];
        int count = 0;
        if (isFromCaller(from)) {
            kept[count++] = 0;
        }
        for (int change : changes) {
            if (change > from && change < to) {
                kept[count++] = change - from;
            }
        }
        return new Text(string.substring(from, to), Arrays.copyOf(kept, count), safe);
    }

    /// The code point at this index, which must be in range.
    Text at(int index) {
        int from = isFlat() ? index : string.offsetByCodePoints(0, index);
        return part(from, from + Character.charCount(string.codePointAt(from)));
    }

    /// Each code point as a text.
    List<Value> characters() {
        List<Value> characters = new ArrayList<>(string.length());
        for (int i = 0; i < string.length(); ) {
            int next = i + Character.charCount(string.codePointAt(i));
            characters.add(part(i, next));
            i = next;
        }
        return characters;
    }

    /// Every `step`th code point from `start`, `count` of them.
    Text slice(Slices.Bounds bounds, Budget budget) {
        if (bounds.count() == 0) {
            return Text.EMPTY.withSafe(safe);
        }
        if (bounds.step() == 1) {
            int from = string.offsetByCodePoints(0, bounds.start());
            return part(from, string.offsetByCodePoints(from, bounds.count()));
        }
        budget.steps(string.length());
        List<Value> characters = characters();
        TextBuilder builder = new TextBuilder(budget);
        for (int i = 0; i < bounds.count(); i++) {
            builder.append((Text) characters.get(bounds.start() + i * bounds.step()));
        }
        return builder.toText().withSafe(safe);
    }

    MarkedText toMarkedText() {
        List<MarkedText.Span> spans = new ArrayList<>();
        int from = 0;
        boolean fromCaller = false;
        for (int change : changes) {
            spans.add(new MarkedText.Span(string.substring(from, change), fromCaller));
            from = change;
            fromCaller = !fromCaller;
        }
        spans.add(new MarkedText.Span(string.substring(from), fromCaller));
        return new MarkedText(spans);
    }

    @Override
    public String toString() {
        return string;
    }
}
