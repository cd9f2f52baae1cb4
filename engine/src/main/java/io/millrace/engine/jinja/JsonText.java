package io.millrace.engine.jinja;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/// The filter `tojson` as transformers defines it: Python's `json.dumps` without HTML escaping.
///
/// If anything in the value came from the caller, the whole JSON text counts as the caller's.
final class JsonText {
    private final Budget budget;
    private final StringBuilder json = new StringBuilder();
    private final boolean ascii;
    private final boolean sorted;
    private final @Nullable String indent;
    private final String itemSeparator;
    private final String keySeparator;
    private boolean hasCallerText;

    private JsonText(Arguments arguments, Budget budget) {
        this.budget = budget;
        Arguments.Bound bound = arguments.bind("tojson", "ensure_ascii", "indent", "separators", "sort_keys");
        this.ascii = bound.flag("ensure_ascii");
        this.sorted = bound.flag("sort_keys");
        this.indent = indent(bound.get("indent").orElse(Value.None.NONE), budget);
        Value separators = bound.get("separators").orElse(Value.None.NONE);
        if (separators == Value.None.NONE) {
            this.itemSeparator = indent == null ? ", " : ",";
            this.keySeparator = ": ";
        } else {
            List<Value> pair = Python.list(separators, budget);
            if (pair.size() != 2 || !(pair.get(0) instanceof Text item) || !(pair.get(1) instanceof Text key)) {
                throw JinjaException.runtime("tojson() separators must be two texts");
            }
            this.itemSeparator = item.string();
            this.keySeparator = key.string();
        }
    }

    private static @Nullable String indent(Value indent, Budget budget) {
        if (indent == Value.None.NONE) {
            return null;
        }
        if (indent instanceof Text text) {
            return text.string();
        }
        int width = Math.max(0, Slices.clamp(indent));
        budget.text(width);
        return " ".repeat(width);
    }

    static Text of(Value value, Arguments arguments, Budget budget) {
        JsonText writer = new JsonText(arguments, budget);
        writer.write(value, "\n");
        String text = writer.json.toString();
        return writer.hasCallerText ? Text.fromCaller(text) : Text.of(text);
    }

    private void write(Value value, String newline) {
        budget.enter();
        switch (value) {
            case Text text -> quote(text);
            case Value.None none -> json.append("null");
            case Value.Bool flag -> json.append(flag == Value.Bool.TRUE);
            case Value.Int(BigInteger number) -> json.append(number);
            case Value.Real(double number) -> json.append(number(number));
            case Value.ListOf(List<Value> items) -> list(items, newline);
            case Value.TupleOf(List<Value> items) -> list(items, newline);
            case Dict dict -> object(dict, newline);
            case Value.Undefined undefined -> throw notSerializable(value);
            case Value.Range range -> throw notSerializable(value);
            case Value.DictView view -> throw notSerializable(value);
            case Value.Generator generator -> throw notSerializable(value);
            case Value.Namespace namespace -> throw notSerializable(value);
            case Value.Function function -> throw notSerializable(value);
            case Loop loop -> throw notSerializable(value);
        }
        budget.leave();
        budget.text(json.length(), 0);
    }

    private static JinjaException notSerializable(Value value) {
        return JinjaException.runtime("Object of type " + Python.typeName(value) + " is not JSON serializable");
    }

    private static String number(double number) {
        if (Double.isNaN(number)) {
            return "NaN";
        }
        if (Double.isInfinite(number)) {
            return number > 0 ? "Infinity" : "-Infinity";
        }
        return Numbers.text(number);
    }

    private void list(List<Value> items, String newline) {
        if (items.isEmpty()) {
            json.append("[]");
            return;
        }
        String inner = indent == null ? "" : newline + indent;
        json.append('[');
        for (int i = 0; i < items.size(); i++) {
            json.append(i == 0 ? "" : itemSeparator).append(inner);
            write(items.get(i), inner);
        }
        json.append(indent == null ? "" : newline).append(']');
    }

    private void object(Dict dict, String newline) {
        if (dict.size() == 0) {
            json.append("{}");
            return;
        }
        List<Dict.Entry> entries = new ArrayList<>(dict.entries());
        if (sorted) {
            Sorting.sort(entries, Dict.Entry::key, false, budget);
        }
        String inner = indent == null ? "" : newline + indent;
        json.append('{');
        for (int i = 0; i < entries.size(); i++) {
            json.append(i == 0 ? "" : itemSeparator).append(inner);
            key(entries.get(i).key());
            json.append(keySeparator);
            write(entries.get(i).value(), inner);
        }
        json.append(indent == null ? "" : newline).append('}');
    }

    private void key(Value key) {
        switch (key) {
            case Text text -> quote(text);
            case Value.None none -> json.append("\"null\"");
            case Value.Bool flag ->
                json.append('"').append(flag == Value.Bool.TRUE).append('"');
            case Value.Int(BigInteger number) -> json.append('"').append(number).append('"');
            case Value.Real(double number) ->
                json.append('"').append(number(number)).append('"');
            default ->
                throw JinjaException.runtime("keys must be str, int, float, bool or None, not " + Python.typeName(key));
        }
    }

    private void quote(Text text) {
        hasCallerText |= text.hasCallerText();
        String string = text.string();
        budget.text((long) json.length() + string.length(), string.length());
        json.append('"');
        for (int i = 0; i < string.length(); i++) {
            char c = string.charAt(i);
            switch (c) {
                case '"' -> json.append("\\\"");
                case '\\' -> json.append("\\\\");
                case '\n' -> json.append("\\n");
                case '\r' -> json.append("\\r");
                case '\t' -> json.append("\\t");
                case '\f' -> json.append("\\f");
                case '\b' -> json.append("\\b");
                default -> {
                    if (c < ' ' || (ascii && c > '~')) {
                        json.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
                    } else {
                        json.append(c);
                    }
                }
            }
        }
        json.append('"');
    }
}
