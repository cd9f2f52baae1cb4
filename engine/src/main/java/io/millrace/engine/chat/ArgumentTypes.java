package io.millrace.engine.chat;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Turns the raw text of a tool-call argument into JSON by the type its tool declares for it.
///
/// GLM writes text arguments raw and all others as JSON, so `7` is a text where the schema says `string`
/// and a number elsewhere. Where text is one of several declared types, JSON of another declared type
/// wins (`null` for a nullable text), else it is text. Where nothing is declared, or what is there does
/// not fit: JSON if it is any, else text.
final class ArgumentTypes {
    private static final int MAX_SCHEMA_DEPTH = 16;

    private enum JsonType {
        STRING,
        INTEGER,
        NUMBER,
        BOOLEAN,
        OBJECT,
        ARRAY,
        NULL
    }

    private final Map<String, Map<?, ?>> propertiesByTool = new HashMap<>();

    ArgumentTypes(List<Map<String, @Nullable Object>> tools) {
        for (Map<String, @Nullable Object> tool : tools) {
            Map<?, ?> function = tool.get("function") instanceof Map<?, ?> inner ? inner : tool;
            if (function.get("name") instanceof String name
                    && function.get("parameters") instanceof Map<?, ?> parameters
                    && parameters.get("properties") instanceof Map<?, ?> properties) {
                propertiesByTool.put(name, properties);
            }
        }
    }

    /// The argument as JSON text.
    String json(String tool, String argument, String text) {
        Set<JsonType> declared = declared(tool, argument);
        if (declared.equals(EnumSet.of(JsonType.STRING))) {
            return Json.write(text);
        }
        if (!(parse(text.strip()) instanceof Json.Parsed.Value(Object value))) {
            return Json.write(text);
        }
        JsonType found = typeOf(value);
        if (declared.contains(JsonType.INTEGER) && value instanceof BigDecimal number && isWhole(number)) {
            return Json.write(number.toBigIntegerExact());
        }
        boolean fits = declared.contains(found) || (found == JsonType.INTEGER && declared.contains(JsonType.NUMBER));
        if (declared.contains(JsonType.STRING) && !fits) {
            return Json.write(text);
        }
        return found == JsonType.STRING && declared.contains(JsonType.STRING) ? Json.write(text) : Json.write(value);
    }

    private static boolean isWhole(BigDecimal number) {
        // The bound keeps 1e999999999 from becoming a gigabyte of digits.
        return number.scale() > -400 && number.stripTrailingZeros().scale() <= 0;
    }

    /// Models trained on Python now and then write its words for JSON's.
    private static Json.Parsed parse(String text) {
        return switch (text) {
            case "True" -> new Json.Parsed.Value(true);
            case "False" -> new Json.Parsed.Value(false);
            case "None" -> new Json.Parsed.Value(null);
            default -> Json.read(text);
        };
    }

    private Set<JsonType> declared(String tool, String argument) {
        Map<?, ?> properties = propertiesByTool.get(tool);
        Set<JsonType> types = EnumSet.noneOf(JsonType.class);
        if (properties != null && properties.get(argument) instanceof Map<?, ?> schema) {
            collect(schema, types, 0);
        }
        return types;
    }

    private static void collect(Map<?, ?> schema, Set<JsonType> types, int depth) {
        if (depth > MAX_SCHEMA_DEPTH) {
            return;
        }
        if (schema.get("type") instanceof String name) {
            add(name, types);
        } else if (schema.get("type") instanceof List<?> names) {
            names.forEach(name -> add(String.valueOf(name), types));
        } else if (schema.get("enum") instanceof List<?> values) {
            values.forEach(value -> types.add(typeOf(value)));
        } else if (schema.containsKey("const")) {
            types.add(typeOf(schema.get("const")));
        }
        for (String union : List.of("anyOf", "oneOf", "allOf")) {
            if (schema.get(union) instanceof List<?> members) {
                for (Object member : members) {
                    if (member instanceof Map<?, ?> part) {
                        collect(part, types, depth + 1);
                    }
                }
            }
        }
        if (Boolean.TRUE.equals(schema.get("nullable")) && !types.isEmpty()) {
            types.add(JsonType.NULL);
        }
    }

    private static void add(String name, Set<JsonType> types) {
        switch (name) {
            case "string" -> types.add(JsonType.STRING);
            case "integer" -> types.add(JsonType.INTEGER);
            case "number" -> types.add(JsonType.NUMBER);
            case "boolean" -> types.add(JsonType.BOOLEAN);
            case "object" -> types.add(JsonType.OBJECT);
            case "array" -> types.add(JsonType.ARRAY);
            case "null" -> types.add(JsonType.NULL);
            default -> {
                // A type of no standard: as if none were declared.
            }
        }
    }

    private static JsonType typeOf(@Nullable Object value) {
        return switch (value) {
            case null -> JsonType.NULL;
            case Boolean flag -> JsonType.BOOLEAN;
            case BigInteger number -> JsonType.INTEGER;
            case Integer number -> JsonType.INTEGER;
            case Long number -> JsonType.INTEGER;
            case Number number -> JsonType.NUMBER;
            case List<?> list -> JsonType.ARRAY;
            case Map<?, ?> map -> JsonType.OBJECT;
            default -> JsonType.STRING;
        };
    }
}
