package io.millrace.engine.jinja;

import java.util.Arrays;

/// Joins texts and keeps their origins.
final class TextBuilder {
    private final Budget budget;
    private final StringBuilder string = new StringBuilder();
    private int[] changes = new int[4];
    private int count;

    TextBuilder(Budget budget) {
        this.budget = budget;
    }

    TextBuilder append(Text text) {
        String added = text.string();
        if (added.isEmpty()) {
            return this;
        }
        budget.text((long) string.length() + added.length(), added.length());
        int offset = string.length();
        boolean startsFromCaller = text.isFromCaller(0);
        if (startsFromCaller != endsFromCaller()) {
            change(offset);
        }
        for (int change : text.changes()) {
            if (change > 0) {
                change(offset + change);
            }
        }
        string.append(added);
        return this;
    }

    TextBuilder append(Text text, int from, int to) {
        return append(text.part(from, to));
    }

    /// Appends text of the template.
    TextBuilder append(String literal) {
        return append(Text.of(literal));
    }

    /// Appends text of the given origin.
    TextBuilder append(String text, boolean fromCaller) {
        return append(fromCaller ? Text.fromCaller(text) : Text.of(text));
    }

    int length() {
        return string.length();
    }

    private boolean endsFromCaller() {
        return (count & 1) == 1;
    }

    private void change(int place) {
        if (count == changes.length) {
            changes = Arrays.copyOf(changes, count * 2);
        }
        changes[count++] = place;
    }

    Text toText() {
        return new Text(string.toString(), Arrays.copyOf(changes, count), false);
    }
}
