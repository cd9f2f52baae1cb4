package io.millrace.engine.checkpoint;

import io.millrace.engine.error.MillraceException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import tools.jackson.databind.JsonNode;

/// The keys of one JSON object with their types and ranges checked. A null value counts as absent.
///
/// @param file    for messages
/// @param prefix  path of the object in the file, for messages; empty or ending in a dot
/// @param object  the object
record JsonKeys(Path file, String prefix, JsonNode object) {

    boolean has(String key) {
        JsonNode value = object.get(key);
        return value != null && !value.isNull();
    }

    /// Refuses every other key.
    void onlyKeys(List<String> known) {
        for (String key : object.propertyNames()) {
            if (!known.contains(key)) {
                throw invalid(InvalidCheckpoint.quote(key), "unknown", "one of " + known);
            }
        }
    }

    int integer(String key, int min, int max) {
        OptionalInt value = optionalInteger(key, min, max);
        return value.orElseThrow(() -> invalid(key, "no value", range(min, max)));
    }

    OptionalInt optionalInteger(String key, int min, int max) {
        return has(key) ? OptionalInt.of(toInteger(key, node(key), min, max)) : OptionalInt.empty();
    }

    double number(String key, double min, double max) {
        OptionalDouble value = optionalNumber(key, min, max);
        return value.orElseThrow(() -> invalid(key, "no value", min + ".." + max));
    }

    OptionalDouble optionalNumber(String key, double min, double max) {
        if (!has(key)) {
            return OptionalDouble.empty();
        }
        JsonNode node = node(key);
        double value = node.isNumber() ? node.asDouble(Double.NaN) : Double.NaN;
        if (!(value >= min && value <= max)) {
            throw invalid(key, show(node), "a number in " + min + ".." + max);
        }
        return OptionalDouble.of(value);
    }

    boolean fact(String key, boolean absent) {
        if (!has(key)) {
            return absent;
        }
        if (!node(key).isBoolean()) {
            throw invalid(key, show(node(key)), "true or false");
        }
        return node(key).booleanValue();
    }

    String text(String key) {
        if (!has(key) || !node(key).isString()) {
            throw invalid(key, has(key) ? show(node(key)) : "no value", "a string");
        }
        return node(key).stringValue();
    }

    JsonKeys child(String key) {
        if (!has(key) || !node(key).isObject()) {
            throw invalid(key, has(key) ? show(node(key)) : "no value", "an object");
        }
        return new JsonKeys(file, prefix + key + ".", node(key));
    }

    /// A list of strings of exactly `size` elements.
    List<String> texts(String key, int size) {
        JsonNode node = node(key);
        if (!node.isArray() || node.size() != size) {
            throw invalid(key, node.isArray() ? node.size() + " elements" : show(node), size + " strings");
        }
        List<String> result = new ArrayList<>(size);
        for (JsonNode element : node) {
            if (!element.isString()) {
                throw invalid(key, show(element), "strings");
            }
            result.add(element.stringValue());
        }
        return result;
    }

    /// Token ids: absent, one integer, or a list of up to `maxCount` integers below `vocabSize`.
    List<Integer> ids(String key, int vocabSize, int maxCount) {
        if (!has(key)) {
            return List.of();
        }
        JsonNode node = node(key);
        if (!node.isArray()) {
            return List.of(toInteger(key, node, 0, vocabSize - 1));
        }
        if (node.size() > maxCount) {
            throw invalid(key, node.size() + " ids", "at most " + maxCount);
        }
        List<Integer> result = new ArrayList<>(node.size());
        for (JsonNode element : node) {
            result.add(toInteger(key, element, 0, vocabSize - 1));
        }
        return List.copyOf(result);
    }

    MillraceException invalid(String key, String found, String expected) {
        return InvalidCheckpoint.of(file, prefix + key + ": " + found, expected);
    }

    /// A foreign value for a message.
    static String show(JsonNode node) {
        return switch (node.getNodeType()) {
            case ARRAY -> "a list";
            case OBJECT -> "an object";
            default -> InvalidCheckpoint.quote(node.toString());
        };
    }

    JsonNode node(String key) {
        JsonNode value = object.get(key);
        if (value == null || value.isNull()) {
            throw invalid(key, "no value", "a value");
        }
        return value;
    }

    private int toInteger(String key, JsonNode node, int min, int max) {
        if (!node.isIntegralNumber() || !node.canConvertToInt() || node.intValue() < min || node.intValue() > max) {
            throw invalid(key, show(node), range(min, max));
        }
        return node.intValue();
    }

    private static String range(int min, int max) {
        return "an integer in " + min + ".." + max;
    }
}
