package io.millrace.engine.jinja;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// Arguments of a call, positional and named.
record Arguments(List<Value> positional, Map<String, Value> named) {
    static final Arguments NONE = new Arguments(List.of(), Map.of());

    /// Arguments sorted to the parameters of a function.
    static final class Bound {
        private final String function;
        private final Map<String, Value> values;

        Bound(String function, Map<String, Value> values) {
            this.function = function;
            this.values = values;
        }

        Optional<Value> get(String parameter) {
            return Optional.ofNullable(values.get(parameter));
        }

        Value required(String parameter) {
            Value value = values.get(parameter);
            if (value == null) {
                throw JinjaException.runtime(
                        function + "() missing 1 required positional argument: '" + parameter + "'");
            }
            return value;
        }

        boolean flag(String parameter) {
            Value value = values.get(parameter);
            return value != null && Python.truth(value);
        }

        int integer(String parameter, int absent) {
            Value value = values.get(parameter);
            return value == null ? absent : Slices.clamp(value);
        }

        Text text(String parameter) {
            return textOf(required(parameter));
        }

        /// A text, empty if left out or none.
        Optional<Text> optionalText(String parameter) {
            return get(parameter).filter(value -> value != Value.None.NONE).map(this::textOf);
        }

        private Text textOf(Value value) {
            if (value instanceof Text text) {
                return text;
            }
            if (value instanceof Value.Undefined(String reason)) {
                throw JinjaException.runtime(reason);
            }
            throw JinjaException.runtime(function + "() argument must be str, not " + Python.typeName(value));
        }
    }

    /// Sorts the arguments to parameters.
    ///
    /// @throws JinjaException on too many, unknown and doubled arguments
    Bound bind(String function, String... parameters) {
        if (positional.size() > parameters.length) {
            throw JinjaException.runtime(function + "() takes at most " + parameters.length + " arguments ("
                    + positional.size() + " given)");
        }
        Map<String, Value> values = new LinkedHashMap<>();
        for (int i = 0; i < positional.size(); i++) {
            values.put(parameters[i], positional.get(i));
        }
        List<String> known = List.of(parameters);
        named.forEach((name, value) -> {
            if (!known.contains(name)) {
                throw JinjaException.runtime(function + "() got an unexpected keyword argument '" + name + "'");
            }
            if (values.put(name, value) != null) {
                throw JinjaException.runtime(function + "() got multiple values for argument '" + name + "'");
            }
        });
        return new Bound(function, values);
    }

    /// Python's own methods take their arguments by place only.
    Bound bindPositional(String function, String... parameters) {
        if (!named.isEmpty()) {
            throw JinjaException.runtime(function + "() takes no keyword arguments");
        }
        return bind(function, parameters);
    }

    @Nullable
    Value first() {
        return positional.isEmpty() ? null : positional.getFirst();
    }

    /// The arguments without the first positional ones.
    Arguments skip(int count) {
        return new Arguments(new ArrayList<>(positional.subList(count, positional.size())), named);
    }
}
