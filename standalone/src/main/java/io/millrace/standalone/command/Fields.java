package io.millrace.standalone.command;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// Takes typed fields out of a line's object; null counts as absent. Errors name field, value and
/// expectation.
final class Fields {
    private final Map<String, @Nullable Object> left;

    Fields(Map<String, @Nullable Object> line) {
        this.left = new LinkedHashMap<>(line);
    }

    boolean has(String name) {
        return left.get(name) != null;
    }

    @Nullable
    Object take(String name) {
        return left.remove(name);
    }

    boolean takeFlag(String name, boolean absent) {
        Object value = left.remove(name);
        return switch (value) {
            case null -> absent;
            case Boolean flag -> flag;
            default -> throw invalid(name, "not true or false");
        };
    }

    String takeText(String name) {
        if (left.remove(name) instanceof String text) {
            return text;
        }
        throw invalid(name, "not a text");
    }

    int[] takeIds(String name) {
        if (!(left.remove(name) instanceof List<?> list)) {
            throw invalid(name, "not a list of token ids");
        }
        int[] ids = new int[list.size()];
        for (int i = 0; i < ids.length; i++) {
            if (!(list.get(i) instanceof Integer id)) {
                throw invalid(name + "[" + i + "]", "not a token id: " + list.get(i));
            }
            ids[i] = id;
        }
        return ids;
    }

    /// A list of JSON objects as it stands; absent or null is empty.
    List<Map<String, @Nullable Object>> takeObjects(String name) {
        Object value = left.remove(name);
        if (value == null) {
            return List.of();
        }
        if (!(value instanceof List<?> list)) {
            throw invalid(name, "not a list");
        }
        List<Map<String, @Nullable Object>> objects = new ArrayList<>(list.size());
        for (int i = 0; i < list.size(); i++) {
            if (!(list.get(i) instanceof Map<?, ?> map)) {
                throw invalid(name + "[" + i + "]", "not an object");
            }
            Map<String, @Nullable Object> object = new LinkedHashMap<>();
            map.forEach((key, element) -> object.put((String) key, element));
            objects.add(object);
        }
        return objects;
    }

    /// All fields nobody has taken.
    Map<String, @Nullable Object> rest() {
        return left;
    }

    void expectNothingElse(String expected) {
        left.values().removeIf(Objects::isNull);
        if (!left.isEmpty()) {
            throw invalid(left.keySet().iterator().next(), "unknown field (expected: " + expected + ")");
        }
    }

    static MillraceException invalid(String param, String what) {
        return MillraceException.ofParam(ErrorCode.INVALID_REQUEST, param, param + ": " + what);
    }
}
