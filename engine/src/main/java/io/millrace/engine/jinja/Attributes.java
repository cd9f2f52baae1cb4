package io.millrace.engine.jinja;

import java.math.BigInteger;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/// `value.name` and `value[index]` with the rules of Jinja's sandbox: a dot looks for the method first
/// and the key second, brackets the other way round; what would change a value cannot be called.
final class Attributes {
    private static final Set<String> DICT_CHANGES = Set.of("clear", "pop", "popitem", "setdefault", "update");
    private static final Set<String> LIST_CHANGES =
            Set.of("append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort");
    private static final Set<String> INT_ATTRIBUTES = Set.of(
            "real",
            "imag",
            "numerator",
            "denominator",
            "bit_length",
            "bit_count",
            "conjugate",
            "to_bytes",
            "from_bytes",
            "as_integer_ratio");
    private static final Set<String> FLOAT_ATTRIBUTES =
            Set.of("real", "imag", "conjugate", "is_integer", "as_integer_ratio", "hex", "fromhex");

    private final Budget budget;
    private final TextMethods textMethods;

    Attributes(Budget budget) {
        this.budget = budget;
        this.textMethods = new TextMethods(budget);
    }

    /// `target.name`
    Value attribute(Value target, String name) {
        if (target instanceof Value.Undefined(String reason)) {
            throw JinjaException.runtime(reason);
        }
        Optional<Value> attribute = own(target, name);
        if (attribute.isPresent()) {
            return attribute.get();
        }
        Value item = target instanceof Dict dict ? dict.get(name) : null;
        return item != null ? item : missing(target, name);
    }

    /// `target[index]`
    Value item(Value target, Value index) {
        if (target instanceof Value.Undefined(String reason)) {
            throw JinjaException.runtime(reason);
        }
        Optional<Value> item = subscript(target, index);
        if (item.isPresent()) {
            return item.get();
        }
        if (index instanceof Text name) {
            return own(target, name.string()).orElseGet(() -> missing(target, name.string()));
        }
        return missing(target, index instanceof Value.Int(BigInteger number) ? number.toString() : "this item");
    }

    /// `target[start:stop:step]`
    Value slice(Value target, Slices.Slice slice) {
        if (target instanceof Value.Undefined(String reason)) {
            throw JinjaException.runtime(reason);
        }
        boolean isSequence = target instanceof Text
                || target instanceof Value.ListOf
                || target instanceof Value.TupleOf
                || target instanceof Value.Range;
        if (!isSequence) {
            throw notSliceable(target);
        }
        if (!slice.isValid()) {
            throw JinjaException.runtime("slice indices must be integers or None");
        }
        Slices.Bounds bounds = Slices.bounds(slice, Python.length(target));
        return switch (target) {
            case Text text -> text.slice(bounds, budget);
            case Value.ListOf(List<Value> items) -> new Value.ListOf(take(items, bounds));
            case Value.TupleOf(List<Value> items) -> new Value.TupleOf(take(items, bounds));
            case Value.Range range ->
                new Value.Range(
                        range.start() + range.step() * bounds.start(),
                        range.start() + range.step() * bounds.stop(),
                        range.step() * bounds.step());
            default -> throw notSliceable(target);
        };
    }

    private static JinjaException notSliceable(Value target) {
        return JinjaException.runtime("'" + Python.typeName(target) + "' object is not subscriptable");
    }

    private List<Value> take(List<Value> items, Slices.Bounds bounds) {
        budget.steps(bounds.count() / 8);
        Value[] taken = new Value[bounds.count()];
        for (int i = 0; i < taken.length; i++) {
            taken[i] = items.get(bounds.start() + i * bounds.step());
        }
        return List.of(taken);
    }

    private static Value.Undefined missing(Value target, String name) {
        return new Value.Undefined("'" + Python.typeName(target) + " object' has no attribute '" + name + "'");
    }

    private static Optional<Value> subscript(Value target, Value index) {
        if (target instanceof Dict dict) {
            return Equality.isHashable(index) ? Optional.ofNullable(dict.get(index)) : Optional.empty();
        }
        if (!Numbers.isInteger(index)) {
            return Optional.empty();
        }
        return switch (target) {
            case Text text -> place(index, text.length()).map(text::at);
            case Value.ListOf(List<Value> items) -> place(index, items.size()).map(items::get);
            case Value.TupleOf(List<Value> items) -> place(index, items.size()).map(items::get);
            case Value.Range range ->
                place(index, Math.toIntExact(range.size()))
                        .map(place -> Value.Int.of(range.start() + place * range.step()));
            default -> Optional.empty();
        };
    }

    private static Optional<Integer> place(Value index, int length) {
        long place = Slices.clamp(index);
        if (place < 0) {
            place += length;
        }
        return place >= 0 && place < length ? Optional.of((int) place) : Optional.empty();
    }

    /// A Python attribute of the value, empty if its type has none of this name.
    Optional<Value> own(Value target, String name) {
        if (name.startsWith("__")) {
            return Optional.empty();
        }
        return switch (target) {
            case Text text -> textMethods.find(text, name);
            case Dict dict -> dictMethod(dict, name);
            case Value.ListOf(List<Value> items) ->
                LIST_CHANGES.contains(name) ? Optional.of(unsafe("list", name)) : listMethod(target, items, name);
            case Value.TupleOf(List<Value> items) ->
                name.equals("copy") ? Optional.empty() : listMethod(target, items, name);
            case Loop loop -> loop.attribute(name);
            case Value.Namespace(Map<String, Value> attributes) -> Optional.ofNullable(attributes.get(name));
            case Value.Bool flag -> unsupportedIf(INT_ATTRIBUTES.contains(name), "int", name);
            case Value.Int number -> unsupportedIf(INT_ATTRIBUTES.contains(name), "int", name);
            case Value.Real number -> unsupportedIf(FLOAT_ATTRIBUTES.contains(name), "float", name);
            case Value.Range range ->
                unsupportedIf(Set.of("start", "stop", "step", "count", "index").contains(name), "range", name);
            case Value.DictView view ->
                unsupportedIf(Set.of("isdisjoint", "mapping").contains(name), "dict_view", name);
            case Value.Function function ->
                unsupportedIf(
                        Set.of("name", "arguments", "caller", "catch_kwargs", "catch_varargs", "explicit_caller")
                                .contains(name),
                        "macro",
                        name);
            case Value.Generator generator ->
                unsupportedIf(Set.of("send", "close", "throw").contains(name), "generator", name);
            case Value.None none -> Optional.empty();
            case Value.Undefined undefined -> Optional.empty();
        };
    }

    private static Optional<Value> unsupportedIf(boolean exists, String type, String name) {
        if (exists) {
            throw JinjaException.unsupported("the attribute " + type + "." + name);
        }
        return Optional.empty();
    }

    private static Value unsafe(String type, String name) {
        return new Value.Undefined("access to attribute '" + name + "' of '" + type + "' object is unsafe.");
    }

    private Optional<Value> dictMethod(Dict dict, String name) {
        if (DICT_CHANGES.contains(name)) {
            return Optional.of(unsafe("dict", name));
        }
        return switch (name) {
            case "items" -> view(dict, name, Value.DictView.Part.ITEMS);
            case "keys" -> view(dict, name, Value.DictView.Part.KEYS);
            case "values" -> view(dict, name, Value.DictView.Part.VALUES);
            case "get" ->
                function(name, arguments -> {
                    Arguments.Bound bound = arguments.bindPositional("get", "key", "default");
                    Value found = dict.get(bound.required("key"));
                    return found != null ? found : bound.get("default").orElse(Value.None.NONE);
                });
            case "copy" ->
                function(name, arguments -> {
                    arguments.bindPositional("copy");
                    return dict;
                });
            case "fromkeys" -> throw JinjaException.unsupported("the method dict.fromkeys");
            default -> Optional.empty();
        };
    }

    private static Optional<Value> view(Dict dict, String name, Value.DictView.Part part) {
        return function(name, arguments -> {
            arguments.bindPositional(name);
            return new Value.DictView(dict, part);
        });
    }

    private static Optional<Value> listMethod(Value list, List<Value> items, String name) {
        return switch (name) {
            case "index" ->
                function(name, arguments -> {
                    Value wanted = arguments.bindPositional(name, "value").required("value");
                    for (int i = 0; i < items.size(); i++) {
                        if (Equality.equal(items.get(i), wanted)) {
                            return Value.Int.of(i);
                        }
                    }
                    throw JinjaException.runtime("the value is not in the list");
                });
            case "count" ->
                function(name, arguments -> {
                    Value wanted = arguments.bindPositional(name, "value").required("value");
                    return Value.Int.of(items.stream()
                            .filter(item -> Equality.equal(item, wanted))
                            .count());
                });
            case "copy" ->
                function(name, arguments -> {
                    arguments.bindPositional(name);
                    return list;
                });
            default -> Optional.empty();
        };
    }

    private static Optional<Value> function(String name, Value.Function.Body body) {
        return Optional.of(Value.Function.of(name, body));
    }
}
