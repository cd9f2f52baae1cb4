package io.millrace.engine.jinja;

import java.util.List;
import java.util.function.Function;

/// Python's stable sort.
final class Sorting {
    private Sorting() {}

    static <T> void sort(List<T> items, Function<T, Value> key, boolean reverse, Budget budget) {
        for (int i = 1; i < items.size(); i++) {
            // Python compares neighbours first; a list it cannot compare fails here, whatever the algorithm.
            less(key.apply(items.get(i)), key.apply(items.get(i - 1)));
        }
        items.sort((a, b) -> {
            budget.steps(1);
            Value x = key.apply(a);
            Value y = key.apply(b);
            if (less(x, y)) {
                return reverse ? 1 : -1;
            }
            if (less(y, x)) {
                return reverse ? -1 : 1;
            }
            return 0;
        });
    }

    static boolean less(Value a, Value b) {
        Integer order = Python.compare(a, b, "<");
        return order != null && order < 0;
    }

    /// Small letters for texts, as filters compare unless told otherwise.
    static Value ignoringCase(Value value, Budget budget) {
        return value instanceof Text text ? Texts.lower(text, budget) : value;
    }
}
