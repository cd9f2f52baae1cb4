package io.millrace.startup;

import io.millrace.engine.error.NearestName;
import java.util.List;
import java.util.Locale;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;

/// Refuses a start with keys of a section that no service has: nobody would bind them, and so nobody
/// notice a slip of the pen. Keys within a section are checked by the service that binds it, so that all
/// services can share one file. System properties and environment variables are the process's and may have
/// other uses.
final class KnownKeys implements ApplicationContextInitializer<ConfigurableApplicationContext> {
    private static final String PREFIX = "millrace.";
    private static final List<String> SECTIONS =
            List.of("decode", "dsa", "gateway", "kernels", "kv", "kv-cache", "model", "prefill", "weights");
    private static final List<String> UNCHECKED = List.of(
            StandardEnvironment.SYSTEM_PROPERTIES_PROPERTY_SOURCE_NAME,
            StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME);

    @Override
    public void initialize(ConfigurableApplicationContext context) {
        for (PropertySource<?> source : context.getEnvironment().getPropertySources()) {
            if (source instanceof EnumerablePropertySource<?> keys && !UNCHECKED.contains(source.getName())) {
                for (String key : keys.getPropertyNames()) {
                    check(key);
                }
            }
        }
    }

    private static void check(String key) {
        if (!key.toLowerCase(Locale.ROOT).startsWith(PREFIX)) {
            return;
        }
        int end = key.indexOf('.', PREFIX.length());
        String section = end < 0 ? key.substring(PREFIX.length()) : key.substring(PREFIX.length(), end);
        if (end < 0 || !SECTIONS.contains(dashed(section))) {
            String near = NearestName.of(section, SECTIONS)
                    .map(name -> "; nearest is " + name)
                    .orElse("");
            throw new IllegalArgumentException(
                    key + ": unknown (expected: a key below millrace., in " + String.join(", ", SECTIONS) + near + ")");
        }
    }

    /// Spring takes `kvCache` and `kv_cache` for `kv-cache`.
    private static String dashed(String section) {
        return section.equals("kvCache") || section.equals("kv_cache") ? "kv-cache" : section;
    }
}
