package io.millrace.engine.jinja;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// Variables of one block, with those around it.
final class Scope {
    private final @Nullable Scope outer;
    private final Map<String, Value> variables = new HashMap<>();

    Scope(@Nullable Scope outer) {
        this.outer = outer;
    }

    void set(String name, Value value) {
        variables.put(name, value);
    }

    Optional<Value> get(String name) {
        for (Scope scope = this; scope != null; scope = scope.outer) {
            Value value = scope.variables.get(name);
            if (value != null) {
                return Optional.of(value);
            }
        }
        return Optional.empty();
    }
}
