package io.millrace.engine.jinja;

import java.math.BigInteger;
import java.util.Set;

/// Jinja's tests: `value is name`.
final class Tests {
    static final Set<String> NAMES = Set.of(
            "defined",
            "undefined",
            "none",
            "string",
            "mapping",
            "iterable",
            "sequence",
            "number",
            "integer",
            "float",
            "boolean",
            "true",
            "false",
            "callable",
            "odd",
            "even",
            "divisibleby",
            "eq",
            "equalto",
            "==",
            "ne",
            "!=",
            "lt",
            "lessthan",
            "<",
            "le",
            "<=",
            "gt",
            "greaterthan",
            ">",
            "ge",
            ">=",
            "in",
            "lower",
            "upper",
            "filter",
            "test",
            "escaped",
            "sameas");

    private final Budget budget;

    Tests(Budget budget) {
        this.budget = budget;
    }

    boolean test(String name, Value value, Arguments arguments) {
        return switch (name) {
            case "divisibleby" ->
                isZero(Operators.binary(
                        BinaryOperator.MODULO,
                        value,
                        arguments.bind(name, "num").required("num"),
                        budget));
            case "eq", "equalto", "==" -> Equality.equal(value, other(name, arguments));
            case "ne", "!=" -> !Equality.equal(value, other(name, arguments));
            case "lt", "lessthan", "<" -> Operators.compare(CompareOperator.LESS, value, other(name, arguments));
            case "le", "<=" -> Operators.compare(CompareOperator.LESS_OR_EQUAL, value, other(name, arguments));
            case "gt", "greaterthan", ">" -> Operators.compare(CompareOperator.GREATER, value, other(name, arguments));
            case "ge", ">=" -> Operators.compare(CompareOperator.GREATER_OR_EQUAL, value, other(name, arguments));
            case "in" -> Python.contains(arguments.bind(name, "seq").required("seq"), value);
            case "sameas" -> sameAs(value, arguments.bind(name, "other").required("other"));
            default -> {
                if (!NAMES.contains(name)) {
                    throw JinjaException.unsupported("the test '" + name + "'");
                }
                arguments.bind(name);
                yield kind(name, value);
            }
        };
    }

    private static Value other(String name, Arguments arguments) {
        return arguments.bindPositional(name, "other").required("other");
    }

    private static boolean sameAs(Value value, Value other) {
        if (other instanceof Value.Bool || other instanceof Value.None) {
            return value.equals(other);
        }
        throw JinjaException.unsupported("the test 'sameas' with anything but true, false and none");
    }

    private boolean kind(String name, Value value) {
        return switch (name) {
            case "defined" -> !(value instanceof Value.Undefined);
            case "undefined" -> value instanceof Value.Undefined;
            case "none" -> value == Value.None.NONE;
            case "string" -> value instanceof Text;
            case "mapping" -> value instanceof Dict;
            case "iterable" -> Python.isIterable(value);
            case "sequence" ->
                Python.tryLength(value).isPresent() && !(value instanceof Value.DictView) && !(value instanceof Loop);
            case "number" -> Numbers.isNumber(value);
            case "integer" -> value instanceof Value.Int;
            case "float" -> value instanceof Value.Real;
            case "boolean" -> value instanceof Value.Bool;
            case "true" -> value == Value.Bool.TRUE;
            case "false" -> value == Value.Bool.FALSE;
            // Undefined has a method for being called, one that fails.
            case "callable" -> value instanceof Value.Function || value instanceof Value.Undefined;
            case "odd", "even" -> {
                Value remainder = Operators.binary(BinaryOperator.MODULO, value, Value.Int.of(2), budget);
                yield Equality.equal(remainder, Value.Int.of(name.equals("odd") ? 1 : 0));
            }
            case "lower" -> TextMethods.is(Python.string(value, budget), "islower");
            case "upper" -> TextMethods.is(Python.string(value, budget), "isupper");
            case "filter" -> value instanceof Text text && Filters.NAMES.contains(text.string());
            case "test" -> value instanceof Text text && NAMES.contains(text.string());
            case "escaped" -> value instanceof Text text && text.isSafe();
            default -> throw JinjaException.unsupported("the test '" + name + "'");
        };
    }

    private static boolean isZero(Value value) {
        return Numbers.isNumber(value) && Equality.equal(value, new Value.Int(BigInteger.ZERO));
    }
}
