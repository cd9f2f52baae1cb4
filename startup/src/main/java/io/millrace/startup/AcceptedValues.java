package io.millrace.startup;

import java.math.BigInteger;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.util.unit.DataSize;

/// What a key takes, in words, for a value that is not even of its type.
final class AcceptedValues {
    private static final String EXPECTED = " (expected: ";
    private static final Set<Class<?>> INTEGERS = Set.of(int.class, Integer.class);
    private static final Set<Class<?>> LONGS = Set.of(long.class, Long.class);

    private AcceptedValues() {}

    /// @param key      as it is written
    /// @param value    that was found
    /// @param type     of the key
    /// @param section  the key is in, if known
    static String of(String key, String value, Class<?> type, @Nullable Section section) {
        if (type.isEnum()) {
            return "one of " + names(type);
        }
        if (INTEGERS.contains(type)) {
            return whole(key, value, Integer.MIN_VALUE, Integer.MAX_VALUE, section);
        }
        if (LONGS.contains(type)) {
            return whole(key, value, Long.MIN_VALUE, Long.MAX_VALUE, section);
        }
        if (type == boolean.class || type == Boolean.class) {
            return "true or false";
        }
        if (type == Duration.class) {
            return "a duration, e.g. 500ms, 30s or 10m";
        }
        if (type == DataSize.class) {
            return "a size, e.g. 512KB or 8MB";
        }
        return "a " + type.getSimpleName();
    }

    private static String names(Class<?> type) {
        Set<String> names = new TreeSet<>();
        for (Object constant : type.getEnumConstants()) {
            names.add(constant.toString().toLowerCase(Locale.ROOT));
        }
        return String.join(", ", names);
    }

    /// The range that the settings themselves tell of; that of the type where they tell of none.
    private static String whole(String key, String value, long least, long most, @Nullable Section section) {
        Optional<String> told =
                section == null ? Optional.empty() : told(key, most, section).or(() -> told(key, least, section));
        if (told.isPresent()) {
            return told.get();
        }
        return isWhole(value) ? "a whole number, " + least + ".." + most : "a whole number";
    }

    private static boolean isWhole(String value) {
        try {
            return new BigInteger(value.strip()).bitLength() > 0;
        } catch (NumberFormatException e) {
            return false;
        }
    }

    /// What the settings expect instead of a number; empty if they take it, or fail by another key.
    private static Optional<String> told(String key, long number, Section section) {
        try {
            new Binder(new MapConfigurationPropertySource(Map.of(key, number)))
                    .bind(section.prefix(), Bindable.of(section.type()));
            return Optional.empty();
        } catch (BindException e) {
            String start = key + ": " + number + EXPECTED;
            return StartFailure.sentence(e)
                    .filter(said -> said.startsWith(start) && said.endsWith(")"))
                    .map(said -> said.substring(start.length(), said.length() - 1));
        }
    }

    /// Settings of which a key is part.
    ///
    /// @param prefix  of all its keys
    record Section(String prefix, Class<?> type) {}
}
