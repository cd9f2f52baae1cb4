package io.millrace.gateway.json;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Typed access to one JSON object. A null field counts as absent. Every error names the parameter by
/// its path, e.g.
/// `messages[0].content`, with what it was and what it may be.
public final class JsonFields {
    private static final double MAX_EXACT = 0x1p53;
    private static final int MAX_SHOWN = 32;

    private final Map<String, @Nullable Object> object;
    private final String path;

    private JsonFields(Map<String, @Nullable Object> object, String path) {
        this.object = object;
        this.path = path;
    }

    /// The fields of a request body.
    public static JsonFields of(Map<String, @Nullable Object> body) {
        return new JsonFields(body, "");
    }

    public Set<String> names() {
        return object.keySet();
    }

    /// Path of a field of this object.
    public String pathOf(String name) {
        return path.isEmpty() ? name : path + "." + name;
    }

    /// Whether the field is there and not null.
    public boolean has(String name) {
        return object.get(name) != null;
    }

    public @Nullable Object value(String name) {
        return object.get(name);
    }

    public Optional<String> string(String name) {
        Object value = object.get(name);
        if (value == null) {
            return Optional.empty();
        }
        if (value instanceof String text) {
            return Optional.of(text);
        }
        throw wrongKind(name, value, "a string");
    }

    public String requiredString(String name) {
        return string(name).orElseThrow(() -> missing(name, "a string"));
    }

    public boolean bool(String name, boolean whenAbsent) {
        Object value = object.get(name);
        if (value == null) {
            return whenAbsent;
        }
        if (value instanceof Boolean flag) {
            return flag;
        }
        throw wrongKind(name, value, "true or false");
    }

    /// A whole number within bounds, both inclusive.
    public OptionalLong integer(String name, long min, long max) {
        Object value = object.get(name);
        return value == null ? OptionalLong.empty() : OptionalLong.of(integer(pathOf(name), value, min, max));
    }

    /// A number from JSON as an integer within bounds.
    ///
    /// @param path  what the error names
    public static long integer(String path, @Nullable Object value, long min, long max) {
        BigInteger number = switch (value) {
            case BigInteger digits -> digits;
            // Some writers know no integers: 10 becomes 10.0.
            case Double whole when isExactInteger(whole) -> BigInteger.valueOf(whole.longValue());
            case null, default -> throw wrongKindAt(path, value, "an integer");
        };
        if (number.compareTo(BigInteger.valueOf(min)) < 0 || number.compareTo(BigInteger.valueOf(max)) > 0) {
            boolean tooSmall = number.compareTo(BigInteger.valueOf(min)) < 0;
            String open = tooSmall ? "at least " + min : "at most " + max;
            String range = max == Long.MAX_VALUE ? open : min + ".." + max;
            throw MillraceException.ofParam(
                    ErrorCode.INVALID_REQUEST, path, path + ": " + shortened(number) + " (expected: " + range + ")");
        }
        return number.longValueExact();
    }

    /// Up to here a number written with fraction or exponent is the one that was meant.
    private static boolean isExactInteger(double value) {
        return value == Math.rint(value) && Math.abs(value) <= MAX_EXACT;
    }

    /// A number within bounds, both inclusive.
    public OptionalDouble number(String name, double min, double max) {
        Object value = object.get(name);
        if (value == null) {
            return OptionalDouble.empty();
        }
        if (!(value instanceof Number number)) {
            throw wrongKind(name, value, "a number");
        }
        double result = number.doubleValue();
        if (!(result >= min && result <= max)) {
            throw invalid(
                    name,
                    pathOf(name) + ": " + shortened(number) + " (expected: " + written(min) + ".." + written(max)
                            + ")");
        }
        return OptionalDouble.of(result);
    }

    private static String written(double bound) {
        return bound == Math.rint(bound) ? Long.toString((long) bound) : Double.toString(bound);
    }

    public Optional<JsonFields> object(String name) {
        Object value = object.get(name);
        return value == null ? Optional.empty() : Optional.of(asObject(pathOf(name), value));
    }

    /// The items of a list of objects, each with its own path; empty when absent.
    public List<JsonFields> objects(String name) {
        List<JsonFields> items = new ArrayList<>();
        int index = 0;
        for (Object item : list(name)) {
            items.add(asObject(pathOf(name) + "[" + index++ + "]", item));
        }
        return items;
    }

    /// The items of a list; empty when absent.
    public List<@Nullable Object> list(String name) {
        Object value = object.get(name);
        if (value == null) {
            return List.of();
        }
        if (value instanceof List<?> items) {
            return new ArrayList<@Nullable Object>(items);
        }
        throw wrongKind(name, value, "a list");
    }

    /// The object itself, as plain Java values.
    public Map<String, @Nullable Object> asMap() {
        return object;
    }

    public MillraceException missing(String name, String expected) {
        return invalid(name, pathOf(name) + ": missing (expected: " + expected + ")");
    }

    public MillraceException wrongKind(String name, @Nullable Object value, String expected) {
        return wrongKindAt(pathOf(name), value, expected);
    }

    public MillraceException invalid(String name, String message) {
        return MillraceException.ofParam(ErrorCode.INVALID_REQUEST, pathOf(name), message);
    }

    public MillraceException notSupported(String name, String message) {
        return MillraceException.ofParam(ErrorCode.NOT_SUPPORTED, pathOf(name), message);
    }

    /// What kind of JSON value it is, in words.
    public static String kindOf(@Nullable Object value) {
        return switch (value) {
            case null -> "null";
            case String _ -> "a string";
            case Boolean _ -> "a boolean";
            case BigInteger _, Integer _, Long _ -> "an integer";
            case Double number -> number == Math.rint(number) ? "a number with a fraction or exponent" : "a fraction";
            case List<?> _ -> "a list";
            default -> "an object";
        };
    }

    /// A text or number itself, cut where it is long; of everything else the kind.
    public static String shown(@Nullable Object value) {
        return switch (value) {
            case String text
            when text.codePointCount(0, text.length()) > MAX_SHOWN ->
                "\"" + text.substring(0, text.offsetByCodePoints(0, MAX_SHOWN)) + "…\"";
            case String text -> "\"" + text + "\"";
            case Number number -> shortened(number);
            case null, default -> kindOf(value);
        };
    }

    private static MillraceException wrongKindAt(String path, @Nullable Object value, String expected) {
        return MillraceException.ofParam(
                ErrorCode.INVALID_REQUEST, path, path + ": " + kindOf(value) + " (expected: " + expected + ")");
    }

    private static JsonFields asObject(String path, @Nullable Object value) {
        if (!(value instanceof Map<?, ?> map)) {
            throw wrongKindAt(path, value, "an object");
        }
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        map.forEach((key, item) -> fields.put((String) key, item));
        return new JsonFields(fields, path);
    }

    private static String shortened(Number number) {
        String text = number.toString();
        return text.length() <= 24 ? text : text.substring(0, 20) + "…";
    }
}
