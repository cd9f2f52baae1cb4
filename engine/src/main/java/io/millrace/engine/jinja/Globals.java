package io.millrace.engine.jinja;

import java.time.Clock;
import java.time.ZonedDateTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// The functions every template can call.
final class Globals {
    private Globals() {}

    static Scope scope(Clock clock, Budget budget) {
        Scope scope = new Scope(null);
        define(scope, "range", arguments -> range(arguments, budget));
        define(scope, "namespace", arguments -> namespace(arguments, budget));
        define(scope, "dict", arguments -> dict(arguments, "dict", budget));
        define(scope, "raise_exception", arguments -> {
            Value message = arguments.bind("raise_exception", "message").required("message");
            throw JinjaException.raised(Python.string(message, budget).string());
        });
        define(scope, "strftime_now", arguments -> {
            String format =
                    arguments.bind("strftime_now", "format").text("format").string();
            return Text.of(Strftime.format(format, ZonedDateTime.now(clock)));
        });
        return scope;
    }

    private static void define(Scope scope, String name, Value.Function.Body body) {
        scope.set(name, Value.Function.of(name, body));
    }

    private static Value range(Arguments arguments, Budget budget) {
        List<Value> bounds = arguments.positional();
        if (bounds.isEmpty() || bounds.size() > 3 || !arguments.named().isEmpty()) {
            throw JinjaException.runtime("range expected 1 to 3 arguments, got " + bounds.size());
        }
        long first = Slices.clamp(bounds.getFirst());
        long step = bounds.size() == 3 ? Slices.clamp(bounds.get(2)) : 1;
        if (step == 0) {
            throw JinjaException.runtime("range() arg 3 must not be zero");
        }
        Value.Range range = bounds.size() == 1
                ? new Value.Range(0, first, 1)
                : new Value.Range(first, Slices.clamp(bounds.get(1)), step);
        budget.items(range.size());
        return range;
    }

    private static Value namespace(Arguments arguments, Budget budget) {
        Map<String, Value> attributes = new LinkedHashMap<>();
        Dict dict = dict(arguments, "namespace", budget);
        for (Dict.Entry entry : dict.entries()) {
            if (entry.key() instanceof Text name) {
                attributes.put(name.string(), entry.value());
            }
        }
        return new Value.Namespace(attributes);
    }

    private static List<Value> pairs(Value value, Budget budget) {
        if (value instanceof Value.Undefined(String reason)) {
            throw JinjaException.runtime(reason);
        }
        return value instanceof Dict dict
                ? new Value.DictView(dict, Value.DictView.Part.ITEMS).items()
                : Python.list(value, budget);
    }

    private static Dict dict(Arguments arguments, String function, Budget budget) {
        Dict dict = new Dict();
        if (arguments.positional().size() > 1) {
            throw JinjaException.runtime(function + " expected at most 1 argument, got "
                    + arguments.positional().size());
        }
        Optional<Value> start = Optional.ofNullable(arguments.first());
        if (start.isPresent()) {
            for (Value pair : pairs(start.get(), budget)) {
                List<Value> parts = Python.list(pair, budget);
                if (parts.size() != 2) {
                    throw JinjaException.runtime(function + "() of something that is no sequence of pairs");
                }
                dict.put(parts.get(0), parts.get(1));
            }
        }
        arguments.named().forEach((name, value) -> dict.put(Text.of(name), value));
        return dict;
    }
}
