package io.millrace.startup;

import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import org.springframework.boot.context.properties.bind.DataObjectPropertyName;

/// The keys that a record of settings takes, those of the records in it included.
public final class SettingKeys {
    private SettingKeys() {}

    /// Keys in their dashed form, in the order of the components; none if it is no record.
    ///
    /// @param prefix  of the record, e.g. `millrace.gateway`
    public static List<String> of(String prefix, Class<?> settings) {
        List<String> keys = new ArrayList<>();
        collect(prefix, settings, keys);
        return keys;
    }

    private static void collect(String prefix, Class<?> type, List<String> keys) {
        if (!type.isRecord()) {
            return;
        }
        for (RecordComponent component : type.getRecordComponents()) {
            String key = prefix + "." + DataObjectPropertyName.toDashedForm(component.getName());
            if (component.getType().isRecord()) {
                collect(key, component.getType(), keys);
            } else {
                keys.add(key);
            }
        }
    }
}
