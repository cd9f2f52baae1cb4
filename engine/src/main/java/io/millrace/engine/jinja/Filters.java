package io.millrace.engine.jinja;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/// Jinja's filters on single values; those on sequences are in [SequenceFilters].
final class Filters {
    static final Set<String> NAMES = Set.of(
            "abs",
            "attr",
            "capitalize",
            "count",
            "d",
            "default",
            "dictsort",
            "e",
            "escape",
            "first",
            "float",
            "format",
            "from_json",
            "indent",
            "int",
            "items",
            "join",
            "last",
            "length",
            "list",
            "lower",
            "map",
            "max",
            "min",
            "reject",
            "rejectattr",
            "replace",
            "reverse",
            "round",
            "safe",
            "select",
            "selectattr",
            "sort",
            "string",
            "sum",
            "title",
            "tojson",
            "trim",
            "unique",
            "upper");
    private static final String WORD_STARTS = "-({[<";

    private final Budget budget;
    private final Attributes attributes;
    private final SequenceFilters sequences;

    Filters(Budget budget, Attributes attributes, Tests tests) {
        this.budget = budget;
        this.attributes = attributes;
        this.sequences = new SequenceFilters(budget, attributes, tests, this);
    }

    Value apply(String name, Value value, Arguments arguments) {
        return switch (name) {
            case "upper", "lower", "capitalize", "title", "string", "safe", "e", "escape" -> {
                arguments.bind(name);
                yield letters(name, Python.string(value, budget));
            }
            case "trim" ->
                Texts.strip(
                        Python.string(value, budget),
                        arguments.bind(name, "chars").optionalText("chars"),
                        Texts.Side.BOTH);
            case "replace" -> replace(value, arguments.bind(name, "old", "new", "count"));
            case "indent" -> indent(value, arguments.bind(name, "width", "first", "blank"));
            case "format" -> format(value, arguments);
            case "tojson" -> JsonText.of(value, arguments, budget);
            case "from_json" -> {
                arguments.bind(name);
                yield JsonValues.read(Python.string(value, budget), budget);
            }
            case "default", "d" -> defaultValue(value, arguments.bind(name, "default_value", "boolean"));
            case "int" -> toInt(value, arguments.bind(name, "default", "base"));
            case "float" -> toFloat(value, arguments.bind(name, "default"));
            case "abs" -> {
                arguments.bind(name);
                yield isNegative(value) ? Operators.negative(value) : Operators.positive(value);
            }
            case "round" -> round(value, arguments.bind(name, "precision", "method"));
            case "length", "count" -> {
                arguments.bind(name);
                yield Value.Int.of(Python.length(value));
            }
            case "attr" -> {
                String attribute = arguments.bind(name, "name").text("name").string();
                if (value instanceof Value.Undefined(String reason)) {
                    throw JinjaException.runtime(reason);
                }
                yield attributes
                        .own(value, attribute)
                        .orElseGet(() -> new Value.Undefined("no attribute '" + attribute + "'"));
            }
            default -> {
                if (!NAMES.contains(name)) {
                    throw JinjaException.unsupported("the filter '" + name + "'");
                }
                yield sequences.apply(name, value, arguments);
            }
        };
    }

    private Value letters(String name, Text text) {
        return switch (name) {
            case "upper" -> Texts.upper(text, budget);
            case "lower" -> Texts.lower(text, budget);
            case "capitalize" -> Texts.capitalize(text, budget);
            case "title" -> title(text);
            case "safe" -> text.withSafe(true);
            case "e", "escape" -> Texts.escape(text, budget);
            default -> text;
        };
    }

    /// A new word starts after white space and `-({[<`; its first letter grows, the others shrink.
    private Text title(Text text) {
        TextBuilder builder = new TextBuilder(budget);
        String string = text.string();
        int from = 0;
        while (from < string.length()) {
            boolean between = startsWord(string.codePointAt(from));
            int to = from;
            while (to < string.length() && startsWord(string.codePointAt(to)) == between) {
                to += Character.charCount(string.codePointAt(to));
            }
            int head = from + Character.charCount(string.codePointAt(from));
            builder.append(Texts.upper(text.part(from, head), budget));
            builder.append(Texts.lower(text.part(head, to), budget));
            from = to;
        }
        return builder.toText();
    }

    private static boolean startsWord(int codePoint) {
        return Whitespace.is(codePoint) || WORD_STARTS.indexOf(codePoint) >= 0;
    }

    private Value replace(Value value, Arguments.Bound bound) {
        return Texts.replace(
                Python.string(value, budget).withSafe(false),
                Python.string(bound.required("old"), budget),
                Python.string(bound.required("new"), budget),
                bound.get("count")
                        .filter(count -> count != Value.None.NONE)
                        .map(Slices::clamp)
                        .orElse(-1),
                budget);
    }

    private Value indent(Value value, Arguments.Bound bound) {
        if (!(value instanceof Text text)) {
            throw JinjaException.runtime("indent() needs a text, not " + Python.typeName(value));
        }
        Value width = bound.get("width").orElse(Value.Int.of(4));
        Text indent = width instanceof Text chosen ? chosen : Texts.repeat(Text.of(" "), Slices.clamp(width), budget);
        List<Value> lines = Texts.lines(Texts.concatenate(text, Text.of("\n"), budget), false, budget);
        TextBuilder builder = new TextBuilder(budget);
        for (int i = 0; i < lines.size(); i++) {
            Text line = (Text) lines.get(i);
            if (i > 0) {
                builder.append("\n");
            }
            boolean indented = i == 0 ? bound.flag("first") : bound.flag("blank") || !line.isEmpty();
            builder.append(indented ? indent : Text.EMPTY).append(line);
        }
        return builder.toText().withSafe(text.isSafe());
    }

    private Value format(Value value, Arguments arguments) {
        if (!arguments.named().isEmpty()) {
            throw JinjaException.unsupported("the filter 'format' with named arguments");
        }
        return new Formatting(budget).percent(Python.string(value, budget), new Value.TupleOf(arguments.positional()));
    }

    private static Value defaultValue(Value value, Arguments.Bound bound) {
        boolean replaced = value instanceof Value.Undefined || (bound.flag("boolean") && !Python.truth(value));
        return replaced ? bound.get("default_value").orElse(Text.EMPTY) : value;
    }

    private static boolean isNegative(Value value) {
        return switch (value) {
            case Value.Int(BigInteger number) -> number.signum() < 0;
            case Value.Real(double number) -> number < 0 || 1 / number < 0;
            default -> false;
        };
    }

    private Value toInt(Value value, Arguments.Bound bound) {
        Value fallback = bound.get("default").orElse(Value.Int.of(0));
        if (bound.integer("base", 10) != 10) {
            throw JinjaException.unsupported("the filter 'int' with a base");
        }
        return switch (value) {
            case Value.Int number -> number;
            case Value.Bool flag -> new Value.Int(Numbers.integer(flag));
            case Value.Real(double number) -> {
                if (Double.isInfinite(number)) {
                    throw JinjaException.runtime("cannot convert float infinity to integer");
                }
                yield Double.isNaN(number) ? fallback : new Value.Int(new BigDecimal(number).toBigInteger());
            }
            case Text text -> {
                Optional<BigInteger> integer = NumberText.integer(text.string());
                if (integer.isPresent()) {
                    budget.integerBits(integer.get().bitLength());
                    yield new Value.Int(integer.get());
                }
                yield NumberText.real(text.string())
                        .filter(Double::isFinite)
                        .<Value>map(number -> new Value.Int(new BigDecimal(number).toBigInteger()))
                        .orElse(fallback);
            }
            case Value.Undefined(String reason) -> throw JinjaException.runtime(reason);
            default -> fallback;
        };
    }

    private static Value toFloat(Value value, Arguments.Bound bound) {
        Value fallback = bound.get("default").orElse(new Value.Real(0.0));
        return switch (value) {
            case Value.Int number -> new Value.Real(Numbers.real(number));
            case Value.Bool flag -> new Value.Real(Numbers.real(flag));
            case Value.Real number -> number;
            case Text text ->
                NumberText.real(text.string()).<Value>map(Value.Real::new).orElse(fallback);
            case Value.Undefined(String reason) -> throw JinjaException.runtime(reason);
            default -> fallback;
        };
    }

    private static Value round(Value value, Arguments.Bound bound) {
        String method = bound.get("method").isPresent() ? bound.text("method").string() : "common";
        int precision = bound.integer("precision", 0);
        RoundingMode mode = switch (method) {
            case "common" -> RoundingMode.HALF_EVEN;
            case "ceil", "floor" -> throw JinjaException.unsupported("the filter 'round' with method '" + method + "'");
            default -> throw JinjaException.runtime("method must be common, ceil or floor");
        };
        if (Numbers.isInteger(value)) {
            BigInteger number = Numbers.integer(value);
            return new Value.Int(
                    precision >= 0
                            ? number
                            : new BigDecimal(number)
                                    .setScale(Math.max(precision, -9999), mode)
                                    .toBigInteger());
        }
        double number = Numbers.real(value);
        if (!Double.isFinite(number) || precision > 400) {
            return value;
        }
        double rounded =
                new BigDecimal(number).setScale(Math.max(precision, -400), mode).doubleValue();
        return new Value.Real(Math.copySign(rounded, number));
    }
}
