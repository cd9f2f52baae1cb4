package io.millrace.startup;

import io.millrace.engine.error.NearestName;
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
        List<String> known = binding == null ? List.of() : known(binding);
        Map<String, Optional<String>> meant = new TreeMap<>();
        for (ConfigurationProperty property : e.getUnboundProperties()) {
            String key = property.getName().toString();
            meant.put(key, nearest(key, known));
        }
        if (meant.values().stream().allMatch(Optional::isEmpty)) {
            return String.join(", ", meant.keySet()) + ": unknown (expected: a key of this service)";
        }
        List<String> said = new ArrayList<>();
        meant.forEach((key, near) -> said.add(key + ": unknown (expected: a key of this service"
                + near.map(name -> "; nearest is " + name).orElse("") + ")"));
        return String.join("; ", said);
    }

    /// A key that is spelt alike, else the only one that ends alike: it may belong to another section.
    private static Optional<String> nearest(String key, List<String> known) {
        Optional<String> spelt = NearestName.of(key, known);
        if (spelt.isPresent()) {
            return spelt;
        }
        String last = key.substring(key.lastIndexOf('.'));
        List<String> ends = known.stream().filter(name -> name.endsWith(last)).toList();
        return ends.size() == 1 ? Optional.of(ends.getFirst()) : Optional.empty();
    }

    private static List<String> known(BindException binding) {
        Class<?> type = binding.getTarget().getType().resolve();
        return type == null ? List.of() : SettingKeys.of(binding.getName().toString(), type);
    }
}
