package io.millrace.engine.jinja;

import java.util.ArrayList;
import java.util.List;

/// Python's operators over all types.
final class Operators {
    private Operators() {}

    static Value binary(BinaryOperator operator, Value a, Value b, Budget budget) {
        if (Numbers.isNumber(a) && Numbers.isNumber(b)) {
            return Numbers.calculate(operator, a, b, budget);
        }
        if (operator == BinaryOperator.MODULO && a instanceof Text pattern) {
            return new Formatting(budget).percent(pattern, b);
        }
        for (Value side : List.of(a, b)) {
            if (side instanceof Value.Undefined(String reason)) {
                throw JinjaException.runtime(reason);
            }
        }
        if (operator == BinaryOperator.ADD) {
            if (a instanceof Text x && b instanceof Text y) {
                return Texts.concatenate(x, y, budget);
            }
            if (a instanceof Value.ListOf(List<Value> x) && b instanceof Value.ListOf(List<Value> y)) {
                return new Value.ListOf(concatenate(x, y, budget));
            }
            if (a instanceof Value.TupleOf(List<Value> x) && b instanceof Value.TupleOf(List<Value> y)) {
                return new Value.TupleOf(concatenate(x, y, budget));
            }
        }
        if (operator == BinaryOperator.MULTIPLY && Numbers.isInteger(b) && isRepeatable(a)) {
            return repeat(a, Slices.clamp(b), budget);
        }
        if (operator == BinaryOperator.MULTIPLY && Numbers.isInteger(a) && isRepeatable(b)) {
            return repeat(b, Slices.clamp(a), budget);
        }
        throw JinjaException.runtime("unsupported operand type(s) for " + operator.sign() + ": '" + Python.typeName(a)
                + "' and '" + Python.typeName(b) + "'");
    }

    private static List<Value> concatenate(List<Value> a, List<Value> b, Budget budget) {
        budget.items((long) a.size() + b.size());
        List<Value> joined = new ArrayList<>(a.size() + b.size());
        joined.addAll(a);
        joined.addAll(b);
        return joined;
    }

    private static boolean isRepeatable(Value value) {
        return value instanceof Text || value instanceof Value.ListOf || value instanceof Value.TupleOf;
    }

    private static Value repeat(Value value, int count, Budget budget) {
        return switch (value) {
            case Text text -> Texts.repeat(text, count, budget);
            case Value.TupleOf(List<Value> items) -> new Value.TupleOf(repeat(items, count, budget));
            case Value.ListOf(List<Value> items) -> new Value.ListOf(repeat(items, count, budget));
            default -> throw new IllegalArgumentException("value: " + value + " (expected: a sequence)");
        };
    }

    private static List<Value> repeat(List<Value> items, int count, Budget budget) {
        budget.items((long) items.size() * Math.max(0, count));
        List<Value> repeated = new ArrayList<>();
        for (int i = 0; i < count && !items.isEmpty(); i++) {
            repeated.addAll(items);
        }
        return repeated;
    }

    static Value negative(Value value) {
        return Numbers.negate(number(value, "-"));
    }

    static Value positive(Value value) {
        Value number = number(value, "+");
        return number instanceof Value.Real ? number : new Value.Int(Numbers.integer(number));
    }

    private static Value number(Value value, String sign) {
        if (value instanceof Value.Undefined(String reason)) {
            throw JinjaException.runtime(reason);
        }
        if (!Numbers.isNumber(value)) {
            throw JinjaException.runtime("bad operand type for unary " + sign + ": '" + Python.typeName(value) + "'");
        }
        return value;
    }

    static boolean compare(CompareOperator operator, Value a, Value b) {
        return switch (operator) {
            case EQUAL -> Equality.equal(a, b);
            case NOT_EQUAL -> !Equality.equal(a, b);
            case IN -> Python.contains(b, a);
            case NOT_IN -> !Python.contains(b, a);
            case LESS, LESS_OR_EQUAL, GREATER, GREATER_OR_EQUAL -> {
                Integer order = Python.compare(a, b, operator.sign());
                yield order != null
                        && switch (operator) {
                            case LESS -> order < 0;
                            case LESS_OR_EQUAL -> order <= 0;
                            case GREATER -> order > 0;
                            default -> order >= 0;
                        };
            }
        };
    }
}
