package io.millrace.engine.jinja;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/// Jinja's filters on sequences and mappings.
final class SequenceFilters {
    private final Budget budget;
    private final Attributes attributes;
    private final Tests tests;
    private final Filters filters;

    SequenceFilters(Budget budget, Attributes attributes, Tests tests, Filters filters) {
        this.budget = budget;
        this.attributes = attributes;
        this.tests = tests;
        this.filters = filters;
    }

    Value apply(String name, Value value, Arguments arguments) {
        return switch (name) {
            case "list" -> {
                arguments.bind(name);
                yield new Value.ListOf(Python.list(value, budget));
            }
            case "first" -> {
                arguments.bind(name);
                Iterator<Value> items = Python.iterate(value);
                yield items.hasNext() ? items.next() : new Value.Undefined("No first item, sequence was empty.");
            }
            case "last" -> {
                arguments.bind(name);
                Iterator<Value> items = reversed(value).iterator();
                yield items.hasNext() ? items.next() : new Value.Undefined("No last item, sequence was empty.");
            }
            case "reverse" -> {
                arguments.bind(name);
                yield reverse(value);
            }
            case "items" -> {
                arguments.bind(name);
                yield items(value);
            }
            case "join" -> join(value, arguments.bind(name, "d", "attribute"));
            case "map" -> map(value, arguments);
            case "select", "reject" -> select(name, value, arguments, Function.identity(), 0);
            case "selectattr", "rejectattr" -> {
                Value attribute = arguments.first();
                if (attribute == null) {
                    throw JinjaException.runtime("Missing parameter for attribute name");
                }
                yield select(name, value, arguments, path(Optional.of(attribute), null), 1);
            }
            case "unique" -> unique(value, arguments.bind(name, "case_sensitive", "attribute"));
            case "sort" -> sort(value, arguments.bind(name, "reverse", "case_sensitive", "attribute"));
            case "dictsort" -> dictSort(value, arguments.bind(name, "case_sensitive", "by", "reverse"));
            case "min", "max" ->
                extreme(value, arguments.bind(name, "case_sensitive", "attribute"), name.equals("max"));
            case "sum" -> sum(value, arguments.bind(name, "attribute", "start"));
            default -> throw JinjaException.unsupported("the filter '" + name + "'");
        };
    }

    private List<Value> reversed(Value value) {
        if (value instanceof Value.Generator generator) {
            throw JinjaException.runtime("'" + generator.typeName() + "' object is not reversible");
        }
        List<Value> items = Python.list(value, budget);
        Collections.reverse(items);
        return items;
    }

    private Value reverse(Value value) {
        if (value instanceof Text text) {
            Slices.Slice backwards = new Slices.Slice(Value.None.NONE, Value.None.NONE, Value.Int.of(-1));
            return text.slice(Slices.bounds(backwards, text.length()), budget);
        }
        if (value instanceof Value.Generator generator) {
            List<Value> items = Python.list(generator, budget);
            Collections.reverse(items);
            return new Value.ListOf(items);
        }
        return new Value.Generator(reversed(value).iterator(), "list_reverseiterator");
    }

    private static Value items(Value value) {
        return switch (value) {
            case Value.Undefined undefined -> Value.Generator.of(Collections.emptyIterator());
            case Dict dict ->
                Value.Generator.of(new Value.DictView(dict, Value.DictView.Part.ITEMS)
                        .items()
                        .iterator());
            default -> Value.Generator.of(failing("Can only get item pairs from a mapping."));
        };
    }

    /// A generator fails when it is used, not when it is made.
    private static Iterator<Value> failing(String reason) {
        return lazily(Collections.<Value>singletonList(Value.None.NONE).iterator(), item -> {
            throw JinjaException.runtime(reason);
        });
    }

    private static Iterator<Value> lazily(Iterator<Value> items, Function<Value, Value> change) {
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return items.hasNext();
            }

            @Override
            public Value next() {
                return change.apply(items.next());
            }
        };
    }

    private static Iterator<Value> filtering(Iterator<Value> items, Predicate<Value> test) {
        return new Iterator<>() {
            private @Nullable Value ahead;

            @Override
            public boolean hasNext() {
                while (ahead == null && items.hasNext()) {
                    Value item = items.next();
                    ahead = test.test(item) ? item : null;
                }
                return ahead != null;
            }

            @Override
            public Value next() {
                if (!hasNext() || ahead == null) {
                    throw new NoSuchElementException();
                }
                Value item = ahead;
                ahead = null;
                return item;
            }
        };
    }

    /// What follows an attribute path such as `function.name` or `0`; the item itself where there is
    /// none.
    private Function<Value, Value> path(Optional<Value> attribute, @Nullable Value absent) {
        if (attribute.isEmpty() || attribute.get() == Value.None.NONE) {
            return Function.identity();
        }
        List<Value> parts = new ArrayList<>();
        if (attribute.get() instanceof Text text) {
            for (Value part : Texts.split(text, Optional.of(Text.of(".")), -1, budget)) {
                String step = ((Text) part).string();
                boolean isNumber =
                        !step.isEmpty() && step.length() < 10 && step.chars().allMatch(c -> c >= '0' && c <= '9');
                parts.add(isNumber ? Value.Int.of(Long.parseLong(step)) : part);
            }
        } else {
            parts.add(attribute.get());
        }
        return item -> {
            Value found = item;
            for (Value part : parts) {
                found = attributes.item(found, part);
                if (absent != null && found instanceof Value.Undefined) {
                    found = absent;
                }
            }
            return found;
        };
    }

    private Value join(Value value, Arguments.Bound bound) {
        Function<Value, Value> path = path(bound.get("attribute"), null);
        List<Text> parts = new ArrayList<>();
        Iterator<Value> items = Python.iterate(value);
        while (items.hasNext()) {
            parts.add(Python.string(path.apply(items.next()), budget));
            budget.steps(1);
        }
        return Texts.join(Python.string(bound.get("d").orElse(Text.EMPTY), budget), parts, budget);
    }

    private Value map(Value value, Arguments arguments) {
        if (!Python.truth(value)) {
            return Value.Generator.of(Collections.emptyIterator());
        }
        Value name = arguments.first();
        if (name == null && arguments.named().containsKey("attribute")) {
            Arguments.Bound bound = arguments.bind("map", "attribute", "default");
            Value absent =
                    bound.get("default").filter(v -> v != Value.None.NONE).orElse(null);
            return Value.Generator.of(lazily(Python.iterate(value), path(bound.get("attribute"), absent)));
        }
        if (!(name instanceof Text filter)) {
            throw JinjaException.runtime("map requires a filter argument");
        }
        Arguments rest = arguments.skip(1);
        return Value.Generator.of(lazily(Python.iterate(value), item -> filters.apply(filter.string(), item, rest)));
    }

    private Value select(String name, Value value, Arguments arguments, Function<Value, Value> path, int testAt) {
        if (!Python.truth(value)) {
            return Value.Generator.of(Collections.emptyIterator());
        }
        boolean selected = name.startsWith("select");
        Arguments rest = arguments.skip(testAt);
        Value test = rest.first();
        Predicate<Value> predicate;
        if (test == null) {
            predicate = item -> Python.truth(path.apply(item)) == selected;
        } else if (test instanceof Text testName) {
            Arguments testArguments = rest.skip(1);
            predicate = item -> tests.test(testName.string(), path.apply(item), testArguments) == selected;
        } else {
            throw JinjaException.runtime("the name of a test must be a text");
        }
        return Value.Generator.of(filtering(Python.iterate(value), predicate));
    }

    private Value unique(Value value, Arguments.Bound bound) {
        Function<Value, Value> key = sortKey(bound);
        Set<Object> seen = new HashSet<>();
        return Value.Generator.of(filtering(Python.iterate(value), item -> seen.add(Equality.key(key.apply(item)))));
    }

    private Function<Value, Value> sortKey(Arguments.Bound bound) {
        Function<Value, Value> path = path(bound.get("attribute"), null);
        return bound.flag("case_sensitive") ? path : item -> Sorting.ignoringCase(path.apply(item), budget);
    }

    private Value sort(Value value, Arguments.Bound bound) {
        List<Function<Value, Value>> keys = new ArrayList<>();
        if (bound.get("attribute").orElse(Value.None.NONE) instanceof Text names) {
            for (Value name : Texts.split(names, Optional.of(Text.of(",")), -1, budget)) {
                Function<Value, Value> path = path(Optional.of(name), null);
                keys.add(bound.flag("case_sensitive") ? path : item -> Sorting.ignoringCase(path.apply(item), budget));
            }
        } else {
            keys.add(sortKey(bound));
        }
        // A list of keys even for one: lists of equal items compare without comparing the items.
        Function<Value, Value> key = item ->
                new Value.ListOf(keys.stream().map(part -> part.apply(item)).toList());
        List<Value> items = Python.list(value, budget);
        Sorting.sort(items, key, bound.flag("reverse"), budget);
        return new Value.ListOf(items);
    }

    private Value dictSort(Value value, Arguments.Bound bound) {
        if (!(value instanceof Dict dict)) {
            throw JinjaException.runtime("dictsort() needs a mapping, not " + Python.typeName(value));
        }
        String by = bound.get("by").isPresent() ? bound.text("by").string() : "key";
        if (!by.equals("key") && !by.equals("value")) {
            throw JinjaException.runtime("You can only sort by either \"key\" or \"value\"");
        }
        List<Dict.Entry> entries = new ArrayList<>(dict.entries());
        Sorting.sort(
                entries,
                entry -> {
                    Value key = by.equals("key") ? entry.key() : entry.value();
                    return bound.flag("case_sensitive") ? key : Sorting.ignoringCase(key, budget);
                },
                bound.flag("reverse"),
                budget);
        List<Value> pairs = new ArrayList<>();
        for (Dict.Entry entry : entries) {
            pairs.add(Value.TupleOf.of(entry.key(), entry.value()));
        }
        return new Value.ListOf(pairs);
    }

    private Value extreme(Value value, Arguments.Bound bound, boolean largest) {
        Function<Value, Value> key = sortKey(bound);
        Iterator<Value> items = Python.iterate(value);
        if (!items.hasNext()) {
            return new Value.Undefined("No aggregated item, sequence was empty.");
        }
        Value best = items.next();
        while (items.hasNext()) {
            Value item = items.next();
            boolean better = largest
                    ? Sorting.less(key.apply(best), key.apply(item))
                    : Sorting.less(key.apply(item), key.apply(best));
            best = better ? item : best;
        }
        return best;
    }

    private Value sum(Value value, Arguments.Bound bound) {
        Function<Value, Value> path = path(bound.get("attribute"), null);
        Value total = bound.get("start").orElse(Value.Int.of(0));
        if (total instanceof Text) {
            throw JinjaException.runtime("sum() can't sum strings");
        }
        Iterator<Value> items = Python.iterate(value);
        while (items.hasNext()) {
            total = Operators.binary(BinaryOperator.ADD, total, path.apply(items.next()), budget);
        }
        return total;
    }
}
