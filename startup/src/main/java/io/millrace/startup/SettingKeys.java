package io.millrace.startup;

import io.millrace.engine.error.NearestName;
import java.lang.reflect.RecordComponent;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.springframework.boot.context.properties.bind.DataObjectPropertyName;

/// The keys that a record of settings takes, those of the records in it included.
public final class SettingKeys {
    private SettingKeys() {}

    /// Keys in their dashed form, in the order of the components; none if it is no record.
    ///
    /// @param prefix  of the record, e.g. `millrace.gateway`
    public static List<String> of(String prefix, Class<?> settings) {
        return List.copyOf(types(prefix, settings).keySet());
    }

    /// The same, each with the type of its values.
    static Map<String, Class<?>> types(String prefix, Class<?> settings) {
        Map<String, Class<?>> keys = new LinkedHashMap<>();
        collect(prefix, settings, keys);
        return keys;
    }

    private static void collect(String prefix, Class<?> type, Map<String, Class<?>> keys) {
        if (!type.isRecord()) {
            return;
        }
        for (RecordComponent component : type.getRecordComponents()) {
            String key = prefix + "." + DataObjectPropertyName.toDashedForm(component.getName());
            if (component.getType().isRecord()) {
                collect(key, component.getType(), keys);
            } else {
                keys.put(key, component.getType());
            }
        }
    }

    /// A key that is spelt alike, else the only one that ends alike: it may belong to another section.
    ///
    /// @param key    that is not among the known ones
    public static Optional<String> nearest(String key, List<String> known) {
        Optional<String> spelt = NearestName.of(key, known);
        if (spelt.isPresent()) {
            return spelt;
        }
        String last = key.substring(key.lastIndexOf('.'));
        List<String> ends = known.stream().filter(name -> name.endsWith(last)).toList();
        return ends.size() == 1 ? Optional.of(ends.getFirst()) : Optional.empty();
    }
}
