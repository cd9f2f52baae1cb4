package io.millrace.startup;

import io.millrace.engine.error.NearestName;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;

/// Keys by the names they are given by: arguments and system properties write them in several ways,
/// environment variables in others.
public final class KeyNames {
    private static final String PROPERTIES = "millrace.";
    private static final String VARIABLES = "MILLRACE_";
    /// They are no settings of a service.
    private static final Set<String> OTHER_PROPERTIES = Set.of("millrace.home", "millrace.kernels.library");

    private static final Set<String> OTHER_VARIABLES =
            Set.of("MILLRACE_JAVA_OPTS", "MILLRACE_AOT", "MILLRACE_HOME", "MILLRACE_NOW");

    private static final String INDEX = "\\[\\d+]$";
    private static final String VARIABLE_INDEX = "_\\d+$";

    /// What a cluster says of its services to every process; `_PORT` alone is also told by its value.
    private static final Pattern SERVICE_LINK = Pattern.compile(
            ".+_(?:SERVICE_HOST|SERVICE_PORT(?:_.+)?|PORT_\\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)");

    private static final Pattern SERVICE_ADDRESS = Pattern.compile("(?:tcp|udp|sctp)://.*");

    private final Map<String, String> byLetters = new TreeMap<>();

    /// @param keys  in their dashed form
    public KeyNames(Collection<String> keys) {
        keys.forEach(key -> byLetters.put(letters(key), key));
    }

    /// Whether a system property has the name of a setting, known or not.
    public static boolean isProperty(String name) {
        return name.startsWith(PROPERTIES) && !OTHER_PROPERTIES.contains(name);
    }

    /// Whether an environment variable has the name of a setting, known or not.
    public static boolean isVariable(String name) {
        return upper(name).startsWith(VARIABLES) && !OTHER_VARIABLES.contains(name);
    }

    /// Whether an environment variable is one that Kubernetes sets by itself for a service of such a name:
    /// `MILLRACE_GATEWAY_SERVICE_HOST`, or `MILLRACE_GATEWAY_PORT` of `tcp://10.0.0.1:8080`.
    public static boolean isServiceLink(String name, String value) {
        return SERVICE_LINK.matcher(name).matches()
                || (name.endsWith("_PORT") && SERVICE_ADDRESS.matcher(value).matches());
    }

    /// The key that is written so: `millrace.kvCache.capacity_bytes` is `millrace.kv-cache.capacity-bytes`.
    public Optional<String> named(String written) {
        return Optional.ofNullable(byLetters.get(letters(written.replaceFirst(INDEX, ""))));
    }

    /// The key of an environment variable: `MILLRACE_KVCACHE_CAPACITYBYTES`, with underscores also for the
    /// hyphens, and a key as it stands.
    public Optional<String> ofVariable(String variable) {
        String wanted = bare(variable.replaceFirst(INDEX, "").replaceFirst(VARIABLE_INDEX, ""));
        return byLetters.values().stream()
                .filter(key -> bare(key).equals(wanted))
                .findFirst();
    }

    /// The key that a misspelt one most likely means.
    public Optional<String> nearest(String written) {
        return SettingKeys.nearest(written, List.copyOf(byLetters.values()));
    }

    /// The variable that a misspelt one most likely means.
    public Optional<String> nearestVariable(String variable) {
        return NearestName.of(
                variable, byLetters.values().stream().map(KeyNames::upper).toList());
    }

    /// A name as variables are written.
    static String upper(String name) {
        return name.replace('.', '_').replace('-', '_').toUpperCase(Locale.ROOT);
    }

    static String letters(String written) {
        return written.toLowerCase(Locale.ROOT).replace("-", "").replace("_", "");
    }

    private static String bare(String written) {
        return letters(written).replace(".", "");
    }
}
