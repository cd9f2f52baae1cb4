package io.millrace.engine.jinja;

import java.util.Set;

/// A piece of a template.
///
/// @param text   a name, an operator, the value of a string, the digits of a number, or literal text
record Token(Kind kind, String text, Position position) {

    enum Kind {
        DATA,
        BLOCK_BEGIN,
        BLOCK_END,
        OUTPUT_BEGIN,
        OUTPUT_END,
        NAME,
        STRING,
        INTEGER,
        REAL,
        OPERATOR,
        END
    }

    boolean isOperator(String operator) {
        return kind == Kind.OPERATOR && text.equals(operator);
    }

    boolean isName(String name) {
        return kind == Kind.NAME && text.equals(name);
    }

    boolean isName(Set<String> names) {
        return kind == Kind.NAME && names.contains(text);
    }

    /// The token for error sentences.
    String describe() {
        return switch (kind) {
            case BLOCK_END -> "end of statement block";
            case OUTPUT_END -> "end of print statement";
            case END -> "end of template";
            case DATA, BLOCK_BEGIN, OUTPUT_BEGIN, NAME, STRING, INTEGER, REAL, OPERATOR -> "'" + text + "'";
        };
    }
}
