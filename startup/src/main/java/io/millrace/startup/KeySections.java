package io.millrace.startup;

import io.millrace.engine.error.NearestName;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/// The sections of keys that there are in all services together.
final class KeySections {
    static final String PREFIX = "millrace.";
    private static final List<String> ALL =
            List.of("decode", "dsa", "gateway", "kernels", "kv", "kv-cache", "model", "prefill", "weights");

    private KeySections() {}

    /// The section of a key, whether it exists or not; empty for a name without one.
    static Optional<String> of(String key) {
        int end = key.indexOf('.', PREFIX.length());
        return end < 0 ? Optional.empty() : Optional.of(dashed(key.substring(PREFIX.length(), end)));
    }

    /// The section of a variable, if it is one of those that exist.
    static Optional<String> ofVariable(String variable) {
        String upper = KeyNames.upper(variable);
        return ALL.stream()
                .filter(section -> upper.startsWith(KeyNames.upper(PREFIX + section + "."))
                        || upper.startsWith(KeyNames.upper(PREFIX + section.replace("-", "") + ".")))
                .max(Comparator.comparingInt(String::length));
    }

    static boolean exists(String section) {
        return ALL.contains(section);
    }

    static Optional<String> nearest(String section) {
        return NearestName.of(section, ALL);
    }

    /// What is said of a key whose section does not exist.
    ///
    /// @param written  the key where it is set
    static String unknown(String written, String section) {
        String near = nearest(section).map(name -> "; nearest is " + name).orElse("");
        return written + ": unknown (expected: a key below millrace., in " + String.join(", ", ALL) + near + ")";
    }

    /// Spring takes `kvCache` and `kv_cache` for `kv-cache`.
    private static String dashed(String section) {
        return section.equals("kvCache") || section.equals("kv_cache") ? "kv-cache" : section;
    }
}
