package io.millrace.engine.jinja;

import io.millrace.engine.text.MarkedText;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// Plain Java values, as JSON parsers make them, as template values. Strings are the caller's; a
/// [MarkedText] says itself whose it is.
final class JavaValues {
    private JavaValues() {}

    static Value of(@Nullable Object value, Budget budget) {
        budget.enter();
        Value converted = switch (value) {
            case null -> Value.None.NONE;
            case String text -> Text.fromCaller(text);
            case MarkedText text -> Text.of(text, budget);
            case Boolean flag -> Value.Bool.of(flag);
            case BigInteger number -> new Value.Int(number);
            case Double number -> new Value.Real(number);
            case Float number -> new Value.Real(number);
            case BigDecimal number -> new Value.Real(number.doubleValue());
            case Number number -> Value.Int.of(number.longValue());
            case Map<?, ?> map -> dict(map, budget);
            case List<?> list -> list(list, budget);
            default ->
                throw new IllegalArgumentException(
                        "value: a " + value.getClass().getName() + " (expected: a JSON value)");
        };
        budget.leave();
        return converted;
    }

    private static Value dict(Map<?, ?> map, Budget budget) {
        Dict dict = new Dict();
        map.forEach((key, value) -> dict.put(of(key, budget), of(value, budget)));
        return dict;
    }

    private static Value list(List<?> list, Budget budget) {
        List<Value> items = new ArrayList<>(list.size());
        for (Object item : list) {
            items.add(of(item, budget));
        }
        return new Value.ListOf(items);
    }
}
