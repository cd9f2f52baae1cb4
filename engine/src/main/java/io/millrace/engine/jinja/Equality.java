package io.millrace.engine.jinja;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;

/// Python's `==` and hashing.
final class Equality {
    private Equality() {}

    static boolean equal(Value a, Value b) {
        return switch (a) {
            case Text text -> b instanceof Text other && text.string().equals(other.string());
            case Value.Bool flag -> equalNumbers(a, b);
            case Value.Int number -> equalNumbers(a, b);
            case Value.Real number -> equalNumbers(a, b);
            case Value.Undefined undefined -> b instanceof Value.Undefined;
            case Value.ListOf(List<Value> items) ->
                b instanceof Value.ListOf(List<Value> others) && equal(items, others);
            case Value.TupleOf(List<Value> items) ->
                b instanceof Value.TupleOf(List<Value> others) && equal(items, others);
            case Value.Range range -> b instanceof Value.Range other && equal(range.items(), other.items());
            case Dict dict -> b instanceof Dict other && equal(dict, other);
            case Value.DictView view
            when b instanceof Value.DictView other && !identical(view, other) ->
                throw JinjaException.unsupported("comparing views of mappings");
            case Value.None none -> identical(a, b);
            case Value.DictView view -> identical(a, b);
            case Value.Generator generator -> identical(a, b);
            case Value.Namespace namespace -> identical(a, b);
            case Value.Function function -> identical(a, b);
            case Loop loop -> identical(a, b);
        };
    }

    @SuppressWarnings("ReferenceEquality") // Python compares these by identity.
    private static boolean identical(Value a, Value b) {
        return a == b;
    }

    private static boolean equal(List<Value> a, List<Value> b) {
        if (a.size() != b.size()) {
            return false;
        }
        for (int i = 0; i < a.size(); i++) {
            if (!equal(a.get(i), b.get(i))) {
                return false;
            }
        }
        return true;
    }

    private static boolean equal(Dict a, Dict b) {
        if (a.size() != b.size()) {
            return false;
        }
        for (Dict.Entry entry : a.entries()) {
            Value other = b.get(entry.key());
            if (other == null || !equal(entry.value(), other)) {
                return false;
            }
        }
        return true;
    }

    private static boolean equalNumbers(Value a, Value b) {
        if (!Numbers.isNumber(a) || !Numbers.isNumber(b)) {
            return false;
        }
        if (Numbers.isNan(a) || Numbers.isNan(b)) {
            return false;
        }
        return Numbers.compare(a, b) == 0;
    }

    /// Whether the value can be a key.
    static boolean isHashable(Value value) {
        return switch (value) {
            case Value.ListOf list -> false;
            case Dict dict -> false;
            case Value.DictView view -> false;
            case Value.TupleOf(List<Value> items) -> items.stream().allMatch(Equality::isHashable);
            default -> true;
        };
    }

    /// An object equal for equal values.
    ///
    /// @throws JinjaException if the value cannot be a key
    static Object key(Value value) {
        return switch (value) {
            case Text text -> text.string();
            case Value.Bool flag -> flag == Value.Bool.TRUE ? BigInteger.ONE : BigInteger.ZERO;
            case Value.Int number -> number.value();
            case Value.Real(double number) -> numberKey(number);
            case Value.TupleOf(List<Value> items) -> {
                List<Object> keys = new ArrayList<>();
                for (Value item : items) {
                    keys.add(key(item));
                }
                yield keys;
            }
            case Value.Undefined undefined -> Value.Undefined.class;
            case Value.None none -> none;
            case Value.Range range -> range.items();
            case Value.ListOf list -> throw unhashable(value);
            case Dict dict -> throw unhashable(value);
            case Value.DictView view -> throw unhashable(value);
            case Value.Generator generator -> generator;
            case Value.Namespace namespace -> throw JinjaException.unsupported("a namespace as a key");
            case Value.Function function -> function;
            case Loop loop -> loop;
        };
    }

    private static Object numberKey(double number) {
        if (number == Math.rint(number) && !Double.isInfinite(number)) {
            return new BigDecimal(number).toBigInteger();
        }
        return number;
    }

    private static JinjaException unhashable(Value value) {
        return JinjaException.runtime("unhashable type: '" + Python.typeName(value) + "'");
    }
}
