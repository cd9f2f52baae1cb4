package io.millrace.engine.settings;

import org.jspecify.annotations.Nullable;

/// A model id that somebody asked for: it stands in answers, logs and labels of metrics.
public final class ServedName {
    private static final String EXPECTED = " (expected: a model id of characters that can be seen)";

    private ServedName() {}

    /// The id; null where none is asked for.
    ///
    /// @param key   what it was given by, e.g. `servedName`
    /// @param name  may be empty, which asks for none
    /// @throws IllegalArgumentException if nobody could read it
    public static @Nullable String require(String key, @Nullable String name) {
        if (name == null || name.isEmpty()) {
            return null;
        }
        if (name.isBlank() || name.chars().anyMatch(ServedName::isUnseen)) {
            throw new IllegalArgumentException(key + ": \"" + escaped(name) + "\"" + EXPECTED);
        }
        return name;
    }

    /// Control characters, and those that break lines.
    private static boolean isUnseen(int character) {
        return switch (Character.getType(character)) {
            case Character.CONTROL, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR -> true;
            default -> false;
        };
    }

    private static String escaped(String name) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < name.length(); i++) {
            char character = name.charAt(i);
            text.append(isUnseen(character) ? String.format("\\u%04x", (int) character) : character);
        }
        return text.toString();
    }
}
