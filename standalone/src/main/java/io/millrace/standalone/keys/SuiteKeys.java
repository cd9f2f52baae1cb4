package io.millrace.standalone.keys;

import io.millrace.decode.DecodeSettings;
import io.millrace.gateway.GatewayProperties;
import io.millrace.gateway.ModelProperties;
import io.millrace.kvcache.KvCacheSettings;
import io.millrace.prefill.PrefillSettings;
import io.millrace.startup.EngineKeys;
import io.millrace.startup.KeyNames;
import io.millrace.startup.SettingKeys;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/// The keys that a suite in one process takes: those of its four services.
final class SuiteKeys {
    static final String PREFIX = "millrace.";
    /// Sections of which a service binds its own, with their records, in the order in which they are checked.
    static final Map<String, Class<?>> SERVICES = new TreeMap<>(Map.of(
            "millrace.prefill", PrefillSettings.class,
            "millrace.decode", DecodeSettings.class,
            "millrace.gateway", GatewayProperties.class,
            "millrace.kv-cache", KvCacheSettings.class));

    /// Where the services find each other, which a suite knows best.
    private static final Set<String> INNER = Set.of(
            "millrace.prefill.kv-cache-targets",
            "millrace.decode.kv-cache-targets",
            "millrace.gateway.prefill-targets",
            "millrace.gateway.decode-targets",
            "millrace.gateway.kv-cache-targets");

    private SuiteKeys() {}

    /// The names of all of them.
    static KeyNames names() {
        List<String> keys = new ArrayList<>(EngineKeys.all());
        keys.addAll(SettingKeys.of("millrace.model", ModelProperties.class));
        SERVICES.forEach((prefix, type) -> keys.addAll(SettingKeys.of(prefix, type)));
        return new KeyNames(keys);
    }

    /// Whether the suite sets it itself.
    static boolean isInner(String key) {
        return INNER.contains(key);
    }
}
