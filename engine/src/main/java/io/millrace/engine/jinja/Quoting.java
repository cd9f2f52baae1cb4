package io.millrace.engine.jinja;

import java.util.Locale;

/// Python's quoted form of a string.
final class Quoting {
    private Quoting() {}

    static void append(Text text, TextBuilder builder) {
        String string = text.string();
        char quote = string.indexOf('\'') >= 0 && string.indexOf('"') < 0 ? '"' : '\'';
        if (text.isSafe()) {
            builder.append("Markup(");
        }
        builder.append(String.valueOf(quote));
        int copied = 0;
        for (int i = 0; i < string.length(); ) {
            int codePoint = string.codePointAt(i);
            int next = i + Character.charCount(codePoint);
            String escaped = escape(codePoint, quote);
            if (!escaped.isEmpty()) {
                builder.append(text, copied, i);
                builder.append(escaped, text.isFromCaller(i));
                copied = next;
            }
            i = next;
        }
        builder.append(text, copied, string.length());
        builder.append(String.valueOf(quote));
        if (text.isSafe()) {
            builder.append(")");
        }
    }

    /// The escape sequence of a code point, empty if it stands for itself.
    private static String escape(int codePoint, char quote) {
        return switch (codePoint) {
            case '\\' -> "\\\\";
            case '\n' -> "\\n";
            case '\r' -> "\\r";
            case '\t' -> "\\t";
            default -> {
                if (codePoint == quote) {
                    yield "\\" + quote;
                }
                if (isPrintable(codePoint)) {
                    yield "";
                }
                String format = codePoint < 0x100 ? "\\x%02x" : codePoint < 0x10000 ? "\\u%04x" : "\\U%08x";
                yield String.format(Locale.ROOT, format, codePoint);
            }
        };
    }

    private static boolean isPrintable(int codePoint) {
        if (codePoint == ' ') {
            return true;
        }
        return switch (Character.getType(codePoint)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.PRIVATE_USE,
                    Character.UNASSIGNED,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR,
                    Character.SPACE_SEPARATOR -> false;
            default -> true;
        };
    }
}
