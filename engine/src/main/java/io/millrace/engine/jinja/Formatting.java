package io.millrace.engine.jinja;

import java.math.BigDecimal;
import java.util.List;
import java.util.Optional;

/// `str.format` and the operator `%` on strings, without widths and precisions.
final class Formatting {
    private final Budget budget;

    Formatting(Budget budget) {
        this.budget = budget;
    }

    /// `'{} {0} {name!r}'.format(…)`
    Value format(Text pattern, Arguments arguments) {
        TextBuilder builder = new TextBuilder(budget);
        String string = pattern.string();
        int automatic = 0;
        int i = 0;
        while (i < string.length()) {
            char c = string.charAt(i);
            if (c != '{' && c != '}') {
                int next = i + 1;
                while (next < string.length() && string.charAt(next) != '{' && string.charAt(next) != '}') {
                    next++;
                }
                builder.append(pattern, i, next);
                i = next;
            } else if (i + 1 < string.length() && string.charAt(i + 1) == c) {
                builder.append(pattern, i, i + 1);
                i += 2;
            } else {
                int close = string.indexOf('}', i);
                if (c == '}' || close < 0) {
                    throw JinjaException.runtime("Single '" + c + "' encountered in format string");
                }
                String field = string.substring(i + 1, close);
                String name =
                        field.endsWith("!r") || field.endsWith("!s") ? field.substring(0, field.length() - 2) : field;
                Value value = field(name.isEmpty() ? String.valueOf(automatic++) : name, arguments);
                builder.append(
                        field.endsWith("!r") ? Python.representation(value, budget) : Python.string(value, budget));
                i = close + 1;
            }
        }
        return builder.toText().withSafe(pattern.isSafe());
    }

    private static Value field(String name, Arguments arguments) {
        if (!name.codePoints().allMatch(c -> Character.isLetterOrDigit(c) || c == '_')) {
            throw JinjaException.unsupported("the format field {" + name + "}");
        }
        if (name.codePoints().allMatch(c -> c >= '0' && c <= '9')) {
            int index = name.length() > 6 ? Integer.MAX_VALUE : Integer.parseInt(name);
            List<Value> positional = arguments.positional();
            if (index >= positional.size()) {
                throw JinjaException.runtime("Replacement index " + name + " out of range for positional args tuple");
            }
            return positional.get(index);
        }
        return Optional.ofNullable(arguments.named().get(name))
                .orElseThrow(() -> JinjaException.runtime("'" + name + "'"));
    }

    /// `'%s %d' % values`
    Value percent(Text pattern, Value values) {
        List<Value> given = values instanceof Value.TupleOf(List<Value> items) ? items : List.of(values);
        TextBuilder builder = new TextBuilder(budget);
        String string = pattern.string();
        int used = 0;
        int from = 0;
        for (int at = string.indexOf('%'); at >= 0; at = string.indexOf('%', from)) {
            builder.append(pattern, from, at);
            if (at + 1 == string.length()) {
                throw JinjaException.runtime("incomplete format");
            }
            char conversion = string.charAt(at + 1);
            if (conversion == '%') {
                builder.append(pattern, at, at + 1);
            } else {
                if (used == given.size() && "srdi".indexOf(conversion) >= 0) {
                    throw JinjaException.runtime("not enough arguments for format string");
                }
                builder.append(convert(conversion, used < given.size() ? given.get(used) : Value.None.NONE));
                used++;
            }
            from = at + 2;
        }
        if (used < given.size() && !isMapping(values)) {
            throw JinjaException.runtime("not all arguments converted during string formatting");
        }
        return builder.append(pattern, from, string.length()).toText().withSafe(pattern.isSafe());
    }

    /// What Python takes for a mapping here: it may hold more than the pattern uses.
    private static boolean isMapping(Value values) {
        return values instanceof Dict || values instanceof Value.ListOf || values instanceof Value.Undefined;
    }

    private Text convert(char conversion, Value value) {
        return switch (conversion) {
            case 's' -> Python.string(value, budget);
            case 'r' -> Python.representation(value, budget);
            case 'd', 'i' -> {
                if (value instanceof Value.Real(double number)) {
                    yield Python.string(new Value.Int(new BigDecimal(number).toBigInteger()), budget);
                }
                if (!Numbers.isInteger(value)) {
                    throw JinjaException.runtime("%d format: a real number is required, not " + Python.typeName(value));
                }
                yield Text.of(Numbers.integer(value).toString());
            }
            default -> throw JinjaException.unsupported("the format %" + conversion);
        };
    }
}
