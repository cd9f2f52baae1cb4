package io.millrace.engine.jinja;

import java.util.List;
import java.util.Optional;

/// An expression.
sealed interface Expr {
    Position position();

    /// A literal text, number, truth value or none.
    record Literal(Position position, Value value) implements Expr {}

    /// A variable.
    record Name(Position position, String name) implements Expr {}

    /// `[a, b]`
    record ListLiteral(Position position, List<Expr> items) implements Expr {}

    /// `(a, b)`
    record TupleLiteral(Position position, List<Expr> items) implements Expr {}

    /// `{a: b}`
    record DictLiteral(Position position, List<Pair> pairs) implements Expr {}

    /// A pair of a mapping literal.
    record Pair(Expr key, Expr value) {}

    /// `target.name`
    record Attribute(Position position, Expr target, String name) implements Expr {}

    /// `target[index]`
    record Item(Position position, Expr target, Expr index) implements Expr {}

    /// `target[start:stop:step]`
    record Slice(Position position, Expr target, Optional<Expr> start, Optional<Expr> stop, Optional<Expr> step)
            implements Expr {}

    /// `function(arguments)`
    record Call(Position position, Expr function, CallArguments arguments) implements Expr {}

    /// `target | name(arguments)`
    record Filter(Position position, Expr target, String name, CallArguments arguments) implements Expr {}

    /// `target is name(arguments)`
    record Test(Position position, Expr target, String name, CallArguments arguments) implements Expr {}

    /// `-a`, `+a`
    record Sign(Position position, boolean negative, Expr operand) implements Expr {}

    /// Arithmetic.
    record Binary(Position position, BinaryOperator operator, Expr left, Expr right) implements Expr {}

    /// `a < b < c`
    record Compare(Position position, Expr first, List<Comparison> comparisons) implements Expr {}

    /// One comparison of a chain.
    record Comparison(CompareOperator operator, Expr right) {}

    /// `a and b`, `a or b`
    record Logic(Position position, boolean isAnd, Expr left, Expr right) implements Expr {}

    /// `not a`
    record Not(Position position, Expr operand) implements Expr {}

    /// `a ~ b ~ c`
    record Concat(Position position, List<Expr> parts) implements Expr {}

    /// `a if condition else b`
    record Conditional(Position position, Expr condition, Expr then, Optional<Expr> otherwise) implements Expr {}

    /// Arguments as written.
    record CallArguments(List<Expr> positional, List<Named> named, Optional<Expr> star, Optional<Expr> doubleStar) {
        static final CallArguments NONE = new CallArguments(List.of(), List.of(), Optional.empty(), Optional.empty());
    }

    /// `name=value` in a call.
    record Named(String name, Expr value) {}
}
