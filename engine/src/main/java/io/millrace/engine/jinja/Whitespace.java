package io.millrace.engine.jinja;

/// White space as Python knows it: more than `Character.isWhitespace`, which lacks U+00A0 and U+0085.
final class Whitespace {
    private Whitespace() {}

    static boolean is(int character) {
        return switch (character) {
            case '\t',
                    '\n',
                    0x0b,
                    '\f',
                    '\r',
                    0x1c,
                    0x1d,
                    0x1e,
                    0x1f,
                    ' ',
                    0x85,
                    0xa0,
                    0x1680,
                    0x2028,
                    0x2029,
                    0x202f -> true;
            case 0x205f, 0x3000 -> true;
            default -> character >= 0x2000 && character <= 0x200a;
        };
    }

    /// Characters that end a line for `splitlines`.
    static boolean endsLine(int character) {
        return switch (character) {
            case '\n', 0x0b, '\f', '\r', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029 -> true;
            default -> false;
        };
    }

    static String stripTrailing(String text) {
        int end = text.length();
        while (end > 0 && is(text.charAt(end - 1))) {
            end--;
        }
        return text.substring(0, end);
    }
}
