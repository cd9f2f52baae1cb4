package io.millrace.engine.jinja;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/// A template that cannot be parsed, uses what this subset does not have, runs against a limit, fails, or
/// refuses its input.
public final class JinjaException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    /// What went wrong.
    public enum Kind {
        /// The template is no valid Jinja.
        SYNTAX,
        /// The template uses something this subset does not have.
        UNSUPPORTED,
        /// The template runs too long, too deep or writes too much.
        LIMIT,
        /// An operation that fails in the reference too, such as an attribute of something undefined.
        RUNTIME,
        /// The template itself refused its input with `raise_exception`.
        RAISED
    }

    private final Kind kind;
    private final String reason;
    private final transient @Nullable Position position;

    private JinjaException(Kind kind, String reason, @Nullable Position position) {
        super(position == null ? reason : reason + " (line " + position.line() + ", column " + position.column() + ")");
        this.kind = kind;
        this.reason = reason;
        this.position = position;
    }

    static JinjaException syntax(String reason, Position position) {
        return new JinjaException(Kind.SYNTAX, reason, position);
    }

    static JinjaException unsupported(String what, Position position) {
        return new JinjaException(Kind.UNSUPPORTED, what + " is not supported", position);
    }

    static JinjaException unsupported(String what) {
        return new JinjaException(Kind.UNSUPPORTED, what + " is not supported", null);
    }

    static JinjaException limit(String reason) {
        return new JinjaException(Kind.LIMIT, reason, null);
    }

    static JinjaException runtime(String reason) {
        return new JinjaException(Kind.RUNTIME, reason, null);
    }

    static JinjaException raised(String reason) {
        return new JinjaException(Kind.RAISED, reason, null);
    }

    /// The same error with its place in the template, unless it has one.
    JinjaException at(Position place) {
        if (position != null) {
            return this;
        }
        JinjaException placed = new JinjaException(kind, reason, place);
        placed.setStackTrace(getStackTrace());
        return placed;
    }

    public Kind kind() {
        return kind;
    }

    /// The sentence without line and column.
    public String reason() {
        return reason;
    }

    /// Line in the template, from 1; 0 when unknown.
    public int line() {
        return position == null ? 0 : position.line();
    }

    /// Column in the template, from 1; 0 when unknown.
    public int column() {
        return position == null ? 0 : position.column();
    }
}
