package io.millrace.standalone.keys;

import io.millrace.decode.DecodeSettings;
import io.millrace.engine.error.NearestName;
import io.millrace.gateway.GatewayProperties;
import io.millrace.gateway.ModelProperties;
import io.millrace.kvcache.KvCacheSettings;
import io.millrace.prefill.PrefillSettings;
import io.millrace.startup.EngineKeys;
import io.millrace.startup.SettingKeys;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
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

    private static final String INDEX = "\\[\\d+]$";
    private static final String VARIABLE_INDEX = "_\\d+$";

    private final Map<String, String> byLetters = new TreeMap<>();

    SuiteKeys() {
        EngineKeys.all().forEach(this::add);
        SettingKeys.of("millrace.model", ModelProperties.class).forEach(this::add);
        SERVICES.forEach((prefix, type) -> SettingKeys.of(prefix, type).forEach(this::add));
    }

    private void add(String key) {
        byLetters.put(letters(key), key);
    }

    /// The key that is written so: `millrace.kvCache.capacity_bytes` is `millrace.kv-cache.capacity-bytes`.
    Optional<String> named(String written) {
        return Optional.ofNullable(byLetters.get(letters(written.replaceFirst(INDEX, ""))));
    }

    /// The key of an environment variable: `MILLRACE_KVCACHE_CAPACITYBYTES`, with underscores also for the
    /// hyphens, and a key as it stands.
    Optional<String> ofVariable(String variable) {
        String wanted = bare(variable.replaceFirst(INDEX, "").replaceFirst(VARIABLE_INDEX, ""));
        return byLetters.values().stream()
                .filter(key -> bare(key).equals(wanted))
                .findFirst();
    }

    /// The key that a misspelt one most likely means.
    Optional<String> nearest(String written) {
        return SettingKeys.nearest(written, List.copyOf(byLetters.values()));
    }

    /// The variable that a misspelt one most likely means.
    Optional<String> nearestVariable(String variable) {
        return NearestName.of(
                variable, byLetters.values().stream().map(SuiteKeys::variable).toList());
    }

    /// Whether the suite sets it itself.
    static boolean isInner(String key) {
        return INNER.contains(key);
    }

    /// The environment variable of a key.
    static String variable(String key) {
        return key.replace('.', '_').replace('-', '_').toUpperCase(Locale.ROOT);
    }

    private static String letters(String written) {
        return written.toLowerCase(Locale.ROOT).replace("-", "").replace("_", "");
    }

    private static String bare(String written) {
        return letters(written).replace(".", "");
    }
}
