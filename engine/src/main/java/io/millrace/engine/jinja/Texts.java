package io.millrace.engine.jinja;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.UnaryOperator;

/// Python's operations on strings; every one keeps the origin of each character.
final class Texts {
    private static final int NO_LIMIT = -1;

    private Texts() {}

    /// Which ends of a text an operation works on.
    enum Side {
        LEFT,
        RIGHT,
        BOTH
    }

    static Text strip(Text text, Optional<Text> characters, Side side) {
        String string = text.string();
        int from = 0;
        int to = string.length();
        while (side != Side.RIGHT && from < to && isStripped(string.codePointAt(from), characters)) {
            from += Character.charCount(string.codePointAt(from));
        }
        while (side != Side.LEFT && to > from && isStripped(string.codePointBefore(to), characters)) {
            to -= Character.charCount(string.codePointBefore(to));
        }
        return text.part(from, to);
    }

    private static boolean isStripped(int codePoint, Optional<Text> characters) {
        return characters.isPresent() ? characters.get().string().indexOf(codePoint) >= 0 : Whitespace.is(codePoint);
    }

    static List<Value> split(Text text, Optional<Text> separator, int limit, Budget budget) {
        return separator.isPresent()
                ? splitAt(text, separator.get().string(), limit, budget)
                : splitWords(text, limit, budget);
    }

    private static List<Value> splitAt(Text text, String separator, int limit, Budget budget) {
        requireSeparator(separator);
        List<Value> parts = new ArrayList<>();
        String string = text.string();
        int from = 0;
        int found = string.indexOf(separator);
        while (found >= 0 && (limit < 0 || parts.size() < limit)) {
            parts.add(text.part(from, found));
            budget.steps(1);
            from = found + separator.length();
            found = string.indexOf(separator, from);
        }
        parts.add(text.part(from, string.length()));
        return parts;
    }

    private static List<Value> splitWords(Text text, int limit, Budget budget) {
        List<Value> words = new ArrayList<>();
        String string = text.string();
        int from = skip(string, 0, true);
        while (from < string.length()) {
            if (limit >= 0 && words.size() == limit) {
                words.add(text.part(from, string.length()));
                return words;
            }
            int to = skip(string, from, false);
            words.add(text.part(from, to));
            budget.steps(1);
            from = skip(string, to, true);
        }
        return words;
    }

    private static int skip(String string, int from, boolean whitespace) {
        int place = from;
        while (place < string.length() && Whitespace.is(string.charAt(place)) == whitespace) {
            place++;
        }
        return place;
    }

    static List<Value> splitFromRight(Text text, Optional<Text> separator, int limit, Budget budget) {
        if (limit < 0) {
            return split(text, separator, limit, budget);
        }
        List<Value> parts = new ArrayList<>();
        String string = text.string();
        int to = string.length();
        if (separator.isPresent()) {
            String by = separator.get().string();
            requireSeparator(by);
            int found = string.lastIndexOf(by);
            while (found >= 0 && parts.size() < limit) {
                parts.addFirst(text.part(found + by.length(), to));
                budget.steps(1);
                to = found;
                found = to < by.length() ? -1 : string.lastIndexOf(by, to - by.length());
            }
            parts.addFirst(text.part(0, to));
            return parts;
        }
        Text rest = strip(text, Optional.empty(), Side.RIGHT);
        while (!rest.isEmpty()) {
            String left = rest.string();
            int from = left.length();
            while (parts.size() < limit && from > 0 && !Whitespace.is(left.charAt(from - 1))) {
                from--;
            }
            from = parts.size() < limit ? from : 0;
            parts.addFirst(rest.part(from, left.length()));
            budget.steps(1 + left.length() / 64);
            rest = strip(rest.part(0, from), Optional.empty(), Side.RIGHT);
        }
        return parts;
    }

    private static void requireSeparator(String separator) {
        if (separator.isEmpty()) {
            throw JinjaException.runtime("empty separator");
        }
    }

    static List<Value> lines(Text text, boolean keepEnds, Budget budget) {
        List<Value> lines = new ArrayList<>();
        String string = text.string();
        int from = 0;
        for (int i = 0; i < string.length(); i++) {
            if (Whitespace.endsLine(string.charAt(i))) {
                int next = string.charAt(i) == '\r' && i + 1 < string.length() && string.charAt(i + 1) == '\n'
                        ? i + 2
                        : i + 1;
                lines.add(text.part(from, keepEnds ? next : i));
                budget.steps(1);
                from = next;
                i = next - 1;
            }
        }
        if (from < string.length()) {
            lines.add(text.part(from, string.length()));
        }
        return lines;
    }

    static Text replace(Text text, Text old, Text replacement, int limit, Budget budget) {
        String string = text.string();
        String target = old.string();
        TextBuilder builder = new TextBuilder(budget);
        int from = 0;
        int replaced = 0;
        int found = string.indexOf(target);
        while (found >= 0 && (limit < 0 || replaced < limit)) {
            builder.append(text, from, found).append(replacement);
            budget.steps(1);
            replaced++;
            from = found + target.length();
            if (target.isEmpty()) {
                if (from == string.length()) {
                    break;
                }
                int next = from + Character.charCount(string.codePointAt(from));
                builder.append(text, from, next);
                from = next;
                found = from;
            } else {
                found = string.indexOf(target, from);
            }
        }
        return builder.append(text, from, string.length()).toText().withSafe(text.isSafe());
    }

    static Text replaceAll(Text text, Text old, Text replacement, Budget budget) {
        return replace(text, old, replacement, NO_LIMIT, budget);
    }

    static Text join(Text separator, List<Text> parts, Budget budget) {
        TextBuilder builder = new TextBuilder(budget);
        for (int i = 0; i < parts.size(); i++) {
            if (i > 0) {
                builder.append(separator);
            }
            builder.append(parts.get(i));
        }
        return builder.toText();
    }

    static Text concatenate(Text a, Text b, Budget budget) {
        if (a.isSafe() || b.isSafe()) {
            return new TextBuilder(budget)
                    .append(escape(a, budget))
                    .append(escape(b, budget))
                    .toText()
                    .withSafe(true);
        }
        return new TextBuilder(budget).append(a).append(b).toText();
    }

    static Text repeat(Text text, int count, Budget budget) {
        if (count <= 0 || text.isEmpty()) {
            return Text.EMPTY.withSafe(text.isSafe());
        }
        budget.text((long) text.string().length() * count);
        TextBuilder builder = new TextBuilder(budget);
        for (int i = 0; i < count; i++) {
            builder.append(text);
        }
        return builder.toText().withSafe(text.isSafe());
    }

    /// Replaces what is special in HTML, unless the text is marked as safe.
    static Text escape(Text text, Budget budget) {
        if (text.isSafe()) {
            return text;
        }
        TextBuilder builder = new TextBuilder(budget);
        String string = text.string();
        int copied = 0;
        for (int i = 0; i < string.length(); i++) {
            String escaped = switch (string.charAt(i)) {
                case '&' -> "&amp;";
                case '<' -> "&lt;";
                case '>' -> "&gt;";
                case '\'' -> "&#39;";
                case '"' -> "&#34;";
                default -> "";
            };
            if (!escaped.isEmpty()) {
                builder.append(text, copied, i).append(escaped, text.isFromCaller(i));
                copied = i + 1;
            }
        }
        return builder.append(text, copied, string.length()).toText().withSafe(true);
    }

    static Text upper(Text text, Budget budget) {
        return convert(text, string -> string.toUpperCase(Locale.ROOT), budget);
    }

    static Text lower(Text text, Budget budget) {
        return convert(text, string -> string.toLowerCase(Locale.ROOT), budget);
    }

    /// Full case folding, as Python's `casefold`.
    static Text caseFold(Text text, Budget budget) {
        return convert(text, Texts::fold, budget);
    }

    private static String fold(String string) {
        StringBuilder folded = new StringBuilder();
        string.codePoints().forEach(codePoint -> {
            String letter = Character.toString(codePoint);
            String capital = letter.toUpperCase(Locale.ROOT);
            // Folding goes by the small letter of the capital, but for these.
            switch (codePoint) {
                case 'ı' -> folded.append(letter);
                case 'ẞ' -> folded.append("ss");
                default ->
                    folded.append(
                            Character.UnicodeScript.of(codePoint) == Character.UnicodeScript.CHEROKEE
                                    ? capital
                                    : capital.toLowerCase(Locale.ROOT));
            }
        });
        return folded.toString();
    }

    /// First letter as in a title, the rest small.
    static Text capitalize(Text text, Budget budget) {
        if (text.isEmpty()) {
            return text;
        }
        int first = Character.charCount(text.string().codePointAt(0));
        return new TextBuilder(budget)
                .append(convert(text.part(0, first), Texts::titleCase, budget))
                .append(
                        lower(text, budget),
                        lower(text.part(0, first), budget).string().length(),
                        lower(text, budget).string().length())
                .toText()
                .withSafe(text.isSafe());
    }

    static String titleCase(String letter) {
        int codePoint = letter.codePointAt(0);
        int title = Character.toTitleCase(codePoint);
        String upper = letter.toUpperCase(Locale.ROOT);
        if (title == codePoint && upper.length() > letter.length()) {
            int head = Character.charCount(upper.codePointAt(0));
            return upper.substring(0, head) + upper.substring(head).toLowerCase(Locale.ROOT);
        }
        return Character.toString(title);
    }

    /// Changes letters; where that changes the length, letter by letter to keep track of origins.
    static Text convert(Text text, UnaryOperator<String> conversion, Budget budget) {
        String converted = conversion.apply(text.string());
        if (converted.length() == text.string().length() || text.changes().length == 0) {
            budget.text(converted.length());
            return text.withCharacters(converted);
        }
        TextBuilder builder = new TextBuilder(budget);
        String string = text.string();
        for (int i = 0; i < string.length(); ) {
            int next = i + Character.charCount(string.codePointAt(i));
            builder.append(conversion.apply(string.substring(i, next)), text.isFromCaller(i));
            i = next;
        }
        return builder.toText().withSafe(text.isSafe());
    }
}
