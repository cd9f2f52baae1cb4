package io.millrace.engine.jinja;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/// Splits a template into tokens, with `trim_blocks` and `lstrip_blocks` as chat templates are written
/// for.
final class Lexer {
    private static final List<String> OPERATORS = List.of(
            "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<",
            "=", ".", ":", "|", ",", ";");
    private static final Set<String> OPENING = Set.of("(", "[", "{");

    private final String source;
    private final List<Token> tokens = new ArrayList<>();
    private int place;
    private boolean lineStarting = true;

    // Lines are counted along the way.
    private int countedTo;
    private int line = 1;
    private int lineStart;

    private Lexer(String source) {
        String unified = source.replace("\r\n", "\n").replace('\r', '\n');
        this.source = unified.endsWith("\n") ? unified.substring(0, unified.length() - 1) : unified;
    }

    static List<Token> tokens(String source) {
        Lexer lexer = new Lexer(source);
        lexer.run();
        return lexer.tokens;
    }

    private void run() {
        while (place < source.length()) {
            int tag = nextTag();
            if (tag < 0) {
                data(source.substring(place), place);
                place = source.length();
            } else {
                tag(tag);
            }
        }
        add(Token.Kind.END, "", place);
    }

    private int nextTag() {
        for (int i = source.indexOf('{', place); i >= 0 && i + 1 < source.length(); i = source.indexOf('{', i + 1)) {
            char next = source.charAt(i + 1);
            if (next == '{' || next == '%' || next == '#') {
                return i;
            }
        }
        return -1;
    }

    private void tag(int tag) {
        char kind = source.charAt(tag + 1);
        int inside = tag + 2;
        char sign = inside < source.length() ? source.charAt(inside) : ' ';
        String text = source.substring(place, tag);
        if (sign == '-') {
            text = Whitespace.stripTrailing(text);
        } else if (sign != '+' && kind != '{') {
            text = withoutIndent(text);
        }
        data(text, place);
        if (sign == '-' || sign == '+') {
            inside++;
        }
        place = inside;
        switch (kind) {
            case '#' -> comment(tag);
            case '{' -> expression(tag, "}}", Token.Kind.OUTPUT_BEGIN, Token.Kind.OUTPUT_END);
            default -> {
                if (!raw(tag)) {
                    expression(tag, "%}", Token.Kind.BLOCK_BEGIN, Token.Kind.BLOCK_END);
                }
            }
        }
    }

    /// Blanks between the start of a line and a block tag go.
    private String withoutIndent(String text) {
        int start = text.lastIndexOf('\n') + 1;
        if (start == 0 && !lineStarting) {
            return text;
        }
        return text.substring(start).chars().allMatch(Whitespace::is) ? text.substring(0, start) : text;
    }

    private void data(String text, int at) {
        if (!text.isEmpty()) {
            add(Token.Kind.DATA, text, at);
        }
    }

    private void add(Token.Kind kind, String text, int at) {
        tokens.add(new Token(kind, text, position(at)));
    }

    private Position position(int at) {
        while (countedTo < at) {
            if (source.charAt(countedTo++) == '\n') {
                line++;
                lineStart = countedTo;
            }
        }
        if (at < lineStart) {
            return new Position(
                    (int) source.substring(0, at).chars().filter(c -> c == '\n').count() + 1, 1);
        }
        return new Position(line, source.codePointCount(lineStart, at) + 1);
    }

    private void comment(int tag) {
        int end = source.indexOf("#}", place);
        if (end < 0) {
            throw JinjaException.syntax("Missing end of comment tag", position(tag));
        }
        char sign = end > place ? source.charAt(end - 1) : ' ';
        place = end + 2;
        afterBlock(sign);
    }

    /// What goes with the end of a block tag: all white space after `-`, nothing after `+`, else one
    /// newline.
    private void afterBlock(char sign) {
        if (sign == '-') {
            skipWhitespace();
        } else if (sign != '+' && place < source.length() && source.charAt(place) == '\n') {
            place++;
        }
        lineStarting = source.charAt(place - 1) == '\n';
    }

    private void skipWhitespace() {
        while (place < source.length() && Whitespace.is(source.charAt(place))) {
            place++;
        }
    }

    /// `{% raw %}…{% endraw %}`
    private boolean raw(int tag) {
        int mark = place;
        skipWhitespace();
        if (!source.startsWith("raw", place)) {
            place = mark;
            return false;
        }
        place += 3;
        skipWhitespace();
        if (source.startsWith("-%}", place)) {
            place += 3;
            skipWhitespace();
        } else if (source.startsWith("%}", place)) {
            place += 2;
        } else {
            place = mark;
            return false;
        }
        lineStarting = source.charAt(place - 1) == '\n';
        for (int end = source.indexOf("{%", place); end >= 0; end = source.indexOf("{%", end + 2)) {
            int from = place;
            place = end + 2;
            char opening = place < source.length() ? source.charAt(place) : ' ';
            if (opening == '-' || opening == '+') {
                place++;
            }
            skipWhitespace();
            if (source.startsWith("endraw", place)) {
                place += 6;
                skipWhitespace();
                char sign = place < source.length() ? source.charAt(place) : ' ';
                if (sign == '-' || sign == '+') {
                    place++;
                }
                if (source.startsWith("%}", place)) {
                    place += 2;
                    String text = source.substring(from, end);
                    if (opening == '-') {
                        text = Whitespace.stripTrailing(text);
                    } else if (opening != '+') {
                        text = withoutIndent(text);
                    }
                    data(text, from);
                    afterBlock(sign);
                    return true;
                }
            }
            place = from;
        }
        throw JinjaException.syntax("Missing end of raw directive", position(tag));
    }

    private void expression(int tag, String close, Token.Kind begin, Token.Kind end) {
        add(begin, source.substring(tag, place), tag);
        Deque<String> open = new ArrayDeque<>();
        while (true) {
            skipWhitespace();
            if (place >= source.length()) {
                throw JinjaException.syntax("unexpected end of template", position(tag));
            }
            if (open.isEmpty() && closes(close)) {
                int at = place;
                char sign = source.charAt(place);
                place = source.indexOf(close, place) + 2;
                add(end, close, at);
                if (end == Token.Kind.BLOCK_END) {
                    afterBlock(sign);
                } else {
                    if (sign == '-') {
                        skipWhitespace();
                    }
                    lineStarting = source.charAt(place - 1) == '\n';
                }
                return;
            }
            token(open);
        }
    }

    private boolean closes(String close) {
        return source.startsWith(close, place)
                || source.startsWith("-" + close, place)
                || (close.equals("%}") && source.startsWith("+" + close, place));
    }

    private void token(Deque<String> open) {
        char c = source.charAt(place);
        if (c >= '0' && c <= '9') {
            number();
        } else if (Character.isUnicodeIdentifierStart(c) || c == '_') {
            int from = place;
            while (place < source.length()
                    && (Character.isUnicodeIdentifierPart(source.charAt(place)) || source.charAt(place) == '_')
                    && !Character.isIdentifierIgnorable(source.charAt(place))) {
                place++;
            }
            add(Token.Kind.NAME, source.substring(from, place), from);
        } else if (c == '\'' || c == '"') {
            string(c);
        } else {
            operator(open);
        }
    }

    private void operator(Deque<String> open) {
        for (String operator : OPERATORS) {
            if (source.startsWith(operator, place)) {
                if (OPENING.contains(operator)) {
                    open.push(operator);
                } else if (")]}".contains(operator)) {
                    String expected = open.isEmpty() ? "nothing" : open.pop();
                    if (!(expected + operator).matches("\\(\\)|\\[\\]|\\{\\}")) {
                        throw JinjaException.syntax("unexpected '" + operator + "'", position(place));
                    }
                }
                add(Token.Kind.OPERATOR, operator, place);
                place += operator.length();
                return;
            }
        }
        throw JinjaException.syntax(
                "unexpected char '" + Character.toString(source.codePointAt(place)) + "'", position(place));
    }

    private void number() {
        int from = place;
        boolean afterDot = from > 0 && source.charAt(from - 1) == '.';
        if (source.charAt(place) == '0'
                && place + 1 < source.length()
                && "xXoObB".indexOf(source.charAt(place + 1)) >= 0) {
            throw JinjaException.unsupported("a number that is not decimal", position(place));
        }
        digits();
        boolean real = false;
        if (!afterDot && isDigitAt(place + 1) && source.charAt(place) == '.') {
            place++;
            digits();
            real = true;
        }
        if (!afterDot && place < source.length() && (source.charAt(place) | 0x20) == 'e') {
            boolean signed = place + 1 < source.length() && "+-".indexOf(source.charAt(place + 1)) >= 0;
            if (isDigitAt(place + (signed ? 2 : 1))) {
                place += signed ? 2 : 1;
                digits();
                real = true;
            }
        }
        String digits = source.substring(from, place).replace("_", "");
        if (!real && digits.length() > 1 && digits.charAt(0) == '0' && !digits.matches("0+")) {
            throw JinjaException.syntax("leading zeros in '" + digits + "'", position(from));
        }
        add(real ? Token.Kind.REAL : Token.Kind.INTEGER, digits, from);
    }

    private boolean isDigitAt(int at) {
        return at < source.length() && source.charAt(at) >= '0' && source.charAt(at) <= '9';
    }

    private void digits() {
        while (isDigitAt(place) || (place < source.length() && source.charAt(place) == '_' && isDigitAt(place + 1))) {
            place++;
        }
    }

    private void string(char quote) {
        int from = place++;
        StringBuilder value = new StringBuilder();
        while (place < source.length() && source.charAt(place) != quote) {
            if (source.charAt(place) == '\\') {
                escape(value);
            } else {
                value.append(source.charAt(place++));
            }
        }
        if (place >= source.length()) {
            throw JinjaException.syntax("a string is not closed", position(from));
        }
        place++;
        add(Token.Kind.STRING, value.toString(), from);
    }

    private void escape(StringBuilder value) {
        int from = place++;
        if (place >= source.length()) {
            throw JinjaException.syntax("a string is not closed", position(from));
        }
        char c = source.charAt(place++);
        switch (c) {
            case 'n' -> value.append('\n');
            case 't' -> value.append('\t');
            case 'r' -> value.append('\r');
            case 'a' -> value.append('\u0007');
            case 'b' -> value.append('\b');
            case 'f' -> value.append('\f');
            case 'v' -> value.append('\u000b');
            case '\\', '\'', '"' -> value.append(c);
            case '\n' -> {
                // A line that goes on.
            }
            case 'x' -> value.appendCodePoint(hex(2, from));
            case 'u' -> value.appendCodePoint(hex(4, from));
            case 'U' -> value.appendCodePoint(hex(8, from));
            case 'N' -> throw JinjaException.unsupported("the escape \\N", position(from));
            case '0', '1', '2', '3', '4', '5', '6', '7' -> {
                int code = c - '0';
                for (int i = 0;
                        i < 2 && place < source.length() && "01234567".indexOf(source.charAt(place)) >= 0;
                        i++) {
                    code = code * 8 + source.charAt(place++) - '0';
                }
                value.appendCodePoint(code);
            }
            default -> value.append('\\').append(c);
        }
    }

    private int hex(int digits, int from) {
        String text = source.substring(place, Math.min(source.length(), place + digits));
        if (!text.toLowerCase(Locale.ROOT).matches("[0-9a-f]{" + digits + "}")
                || !Character.isValidCodePoint((int) Long.parseLong(text, 16))) {
            throw JinjaException.syntax("a truncated or invalid escape in a string", position(from));
        }
        place += digits;
        return Integer.parseInt(text, 16);
    }
}
