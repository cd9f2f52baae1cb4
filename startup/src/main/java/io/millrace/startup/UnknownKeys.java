package io.millrace.startup;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.UnboundConfigurationPropertiesException;
import org.springframework.boot.context.properties.source.ConfigurationProperty;

/// What is said of keys that no settings bind: each with the known key that looks like it, if one does.
final class UnknownKeys {
    private UnknownKeys() {}

    /// @param binding  of the section they are in, if known
    static String sentence(UnboundConfigurationPropertiesException e, @Nullable BindException binding) {
        Optional<AcceptedValues.Section> section = section(binding);
        Map<String, Class<?>> types =
                section.map(one -> SettingKeys.types(one.prefix(), one.type())).orElse(Map.of());
        List<String> known = List.copyOf(types.keySet());
        Map<String, Optional<String>> meant = new TreeMap<>();
        for (ConfigurationProperty property : e.getUnboundProperties()) {
            String key = property.getName().toString();
            Class<?> type = types.get(key);
            if (type != null) {
                // Spring takes an empty text for no value at all, where the type is no text.
                String value = String.valueOf(property.getValue());
                return key + ": \"" + value + "\" (expected: "
                        + AcceptedValues.of(key, value, type, section.orElse(null)) + ")";
            }
            meant.put(key, SettingKeys.nearest(key, known));
        }
        if (meant.values().stream().allMatch(Optional::isEmpty)) {
            return String.join(", ", meant.keySet()) + ": unknown (expected: a key of this service)";
        }
        List<String> said = new ArrayList<>();
        meant.forEach((key, near) -> said.add(key + ": unknown (expected: a key of this service"
                + near.map(name -> "; nearest is " + name).orElse("") + ")"));
        return String.join("; ", said);
    }

    private static Optional<AcceptedValues.Section> section(@Nullable BindException binding) {
        Class<?> type = binding == null ? null : binding.getTarget().getType().resolve();
        return binding == null || type == null
                ? Optional.empty()
                : Optional.of(new AcceptedValues.Section(binding.getName().toString(), type));
    }
}
