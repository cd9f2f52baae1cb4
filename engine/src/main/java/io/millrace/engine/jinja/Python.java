package io.millrace.engine.jinja;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// What Python does with any value: its text forms, truth, length, iteration, membership and order.
final class Python {
    private Python() {}

    static String typeName(Value value) {
        return switch (value) {
            case Text text -> "str";
            case Value.Bool flag -> "bool";
            case Value.Int number -> "int";
            case Value.Real number -> "float";
            case Value.None none -> "NoneType";
            case Value.Undefined undefined -> "Undefined";
            case Value.ListOf list -> "list";
            case Value.TupleOf tuple -> "tuple";
            case Value.Range range -> "range";
            case Dict dict -> "dict";
            case Value.DictView view ->
                switch (view.part()) {
                    case KEYS -> "dict_keys";
                    case VALUES -> "dict_values";
                    case ITEMS -> "dict_items";
                };
            case Value.Generator generator -> generator.typeName();
            case Value.Namespace namespace -> "Namespace";
            case Value.Function function -> "function";
            case Loop loop -> "LoopContext";
        };
    }

    static boolean truth(Value value) {
        return switch (value) {
            case Text text -> !text.isEmpty();
            case Value.Bool flag -> flag == Value.Bool.TRUE;
            case Value.Int(BigInteger number) -> number.signum() != 0;
            case Value.Real(double number) -> number != 0;
            case Value.None none -> false;
            case Value.Undefined undefined -> false;
            case Value.ListOf(List<Value> items) -> !items.isEmpty();
            case Value.TupleOf(List<Value> items) -> !items.isEmpty();
            case Value.Range range -> range.size() > 0;
            case Dict dict -> dict.size() > 0;
            case Value.DictView view -> view.dict().size() > 0;
            case Value.Generator generator -> true;
            case Value.Namespace namespace -> true;
            case Value.Function function -> true;
            case Loop loop -> true;
        };
    }

    /// The items one can go through; empty if the value has none and is not iterable at all.
    static Optional<Iterator<Value>> tryIterate(Value value) {
        return switch (value) {
            case Text text -> Optional.of(text.characters().iterator());
            case Value.Undefined undefined -> Optional.of(List.<Value>of().iterator());
            case Value.ListOf(List<Value> items) -> Optional.of(items.iterator());
            case Value.TupleOf(List<Value> items) -> Optional.of(items.iterator());
            case Value.Range range -> Optional.of(range.items().iterator());
            case Dict dict -> Optional.of(dict.keys().iterator());
            case Value.DictView view -> Optional.of(view.items().iterator());
            case Value.Generator generator -> Optional.of(generator.iterator());
            case Value.Bool flag -> Optional.empty();
            case Value.Int number -> Optional.empty();
            case Value.Real number -> Optional.empty();
            case Value.None none -> Optional.empty();
            case Value.Namespace namespace -> Optional.empty();
            case Value.Function function -> Optional.empty();
            case Loop loop -> throw JinjaException.unsupported("iterating over loop");
        };
    }

    static boolean isIterable(Value value) {
        return value instanceof Loop || tryIterate(value).isPresent();
    }

    static Iterator<Value> iterate(Value value) {
        return tryIterate(value)
                .orElseThrow(() -> JinjaException.runtime("'" + typeName(value) + "' object is not iterable"));
    }

    static List<Value> list(Value value, Budget budget) {
        List<Value> items = new ArrayList<>();
        Iterator<Value> iterator = iterate(value);
        while (iterator.hasNext()) {
            items.add(iterator.next());
            budget.steps(1);
        }
        return items;
    }

    /// The length; empty if the value has none.
    static Optional<Integer> tryLength(Value value) {
        return switch (value) {
            case Text text -> Optional.of(text.length());
            case Value.Undefined undefined -> Optional.of(0);
            case Value.ListOf(List<Value> items) -> Optional.of(items.size());
            case Value.TupleOf(List<Value> items) -> Optional.of(items.size());
            case Value.Range range -> Optional.of(Math.toIntExact(range.size()));
            case Dict dict -> Optional.of(dict.size());
            case Value.DictView view -> Optional.of(view.dict().size());
            case Loop loop -> Optional.of(loop.length());
            case Value.Generator generator -> Optional.empty();
            case Value.Bool flag -> Optional.empty();
            case Value.Int number -> Optional.empty();
            case Value.Real number -> Optional.empty();
            case Value.None none -> Optional.empty();
            case Value.Namespace namespace -> Optional.empty();
            case Value.Function function -> Optional.empty();
        };
    }

    static int length(Value value) {
        return tryLength(value)
                .orElseThrow(() -> JinjaException.runtime("object of type '" + typeName(value) + "' has no len()"));
    }

    /// Python's `item in container`.
    static boolean contains(Value container, Value item) {
        return switch (container) {
            case Text text -> {
                if (!(item instanceof Text part)) {
                    throw JinjaException.runtime(
                            "'in <string>' requires string as left operand, not " + typeName(item));
                }
                yield text.string().contains(part.string());
            }
            case Dict dict -> dict.containsKey(item);
            case Value.DictView view
            when view.part() == Value.DictView.Part.KEYS -> view.dict().containsKey(item);
            default -> {
                Iterator<Value> items = tryIterate(container)
                        .orElseThrow(() -> JinjaException.runtime(
                                "argument of type '" + typeName(container) + "' is not iterable"));
                while (items.hasNext()) {
                    if (Equality.equal(items.next(), item)) {
                        yield true;
                    }
                }
                yield false;
            }
        };
    }

    /// Order of two values.
    ///
    /// @return the order, or null where both `<` and `>` are false for NaN
    static @Nullable Integer compare(Value a, Value b, String operator) {
        if (Numbers.isNumber(a) && Numbers.isNumber(b)) {
            return Numbers.isNan(a) || Numbers.isNan(b) ? null : Integer.valueOf(Numbers.compare(a, b));
        }
        if (a instanceof Text x && b instanceof Text y) {
            return compareCodePoints(x.string(), y.string());
        }
        if (a instanceof Value.ListOf(List<Value> x) && b instanceof Value.ListOf(List<Value> y)) {
            return compareItems(x, y, operator);
        }
        if (a instanceof Value.TupleOf(List<Value> x) && b instanceof Value.TupleOf(List<Value> y)) {
            return compareItems(x, y, operator);
        }
        for (Value side : List.of(a, b)) {
            if (side instanceof Value.Undefined(String reason)) {
                throw JinjaException.runtime(reason);
            }
        }
        throw JinjaException.runtime("'" + operator + "' not supported between instances of '" + typeName(a) + "' and '"
                + typeName(b) + "'");
    }

    private static @Nullable Integer compareItems(List<Value> a, List<Value> b, String operator) {
        int shared = Math.min(a.size(), b.size());
        for (int i = 0; i < shared; i++) {
            if (!Equality.equal(a.get(i), b.get(i))) {
                return compare(a.get(i), b.get(i), operator);
            }
        }
        return Integer.compare(a.size(), b.size());
    }

    private static int compareCodePoints(String a, String b) {
        int shared = Math.min(a.length(), b.length());
        int i = 0;
        while (i < shared && a.charAt(i) == b.charAt(i)) {
            i++;
        }
        if (i == shared) {
            return Integer.compare(a.length(), b.length());
        }
        if (Character.isLowSurrogate(a.charAt(i)) && i > 0) {
            i--;
        }
        return Integer.compare(a.codePointAt(i), b.codePointAt(i));
    }

    /// `str(value)`.
    static Text string(Value value, Budget budget) {
        if (value instanceof Text text) {
            return text;
        }
        if (value instanceof Value.Undefined) {
            return Text.EMPTY;
        }
        TextBuilder builder = new TextBuilder(budget);
        representation(value, builder, budget);
        return builder.toText();
    }

    /// `repr(value)`.
    static Text representation(Value value, Budget budget) {
        TextBuilder builder = new TextBuilder(budget);
        representation(value, builder, budget);
        return builder.toText();
    }

    private static void representation(Value value, TextBuilder builder, Budget budget) {
        budget.enter();
        switch (value) {
            case Text text -> Quoting.append(text, builder);
            case Value.Bool flag -> builder.append(flag == Value.Bool.TRUE ? "True" : "False");
            case Value.Int(BigInteger number) -> builder.append(number.toString());
            case Value.Real(double number) -> builder.append(Numbers.text(number));
            case Value.None none -> builder.append("None");
            case Value.Undefined undefined -> builder.append("Undefined");
            case Value.ListOf(List<Value> items) -> items("[", items, "]", builder, budget);
            case Value.TupleOf(List<Value> items) -> items("(", items, items.size() == 1 ? ",)" : ")", builder, budget);
            case Value.Range range ->
                builder.append("range(" + range.start() + ", " + range.stop()
                        + (range.step() == 1 ? "" : ", " + range.step()) + ")");
            case Dict dict -> pairs(dict, builder, budget);
            case Value.DictView view -> items(typeName(view) + "([", view.items(), "])", builder, budget);
            case Value.Namespace(Map<String, Value> attributes) -> {
                Dict dict = new Dict();
                attributes.forEach((name, attribute) -> dict.put(Text.of(name), attribute));
                builder.append("<Namespace ");
                pairs(dict, builder, budget);
                builder.append(">");
            }
            case Value.Generator generator -> throw JinjaException.unsupported("printing a " + generator.typeName());
            case Value.Function function ->
                throw JinjaException.unsupported("printing the function " + function.name());
            case Loop loop -> builder.append("<LoopContext " + loop.index() + "/" + loop.length() + ">");
        }
        budget.leave();
    }

    private static void items(String open, List<Value> items, String close, TextBuilder builder, Budget budget) {
        builder.append(open);
        for (int i = 0; i < items.size(); i++) {
            if (i > 0) {
                builder.append(", ");
            }
            representation(items.get(i), builder, budget);
        }
        builder.append(close);
    }

    private static void pairs(Dict dict, TextBuilder builder, Budget budget) {
        String separator = "{";
        for (Dict.Entry entry : dict.entries()) {
            builder.append(separator);
            representation(entry.key(), builder, budget);
            builder.append(": ");
            representation(entry.value(), builder, budget);
            separator = ", ";
        }
        builder.append(dict.size() == 0 ? "{}" : "}");
    }
}
