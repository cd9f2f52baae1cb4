package io.millrace.startup;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;

/// Refuses a start with keys of a section that no service has: nobody would bind them, and so nobody
/// notice a slip of the pen. Keys within a section are checked by the service that binds it, so that all
/// services can share one file. Those of the process, which may have other uses, are [ProcessKeys]'s.
final class KnownKeys implements ApplicationContextInitializer<ConfigurableApplicationContext> {
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
        if (!key.toLowerCase(Locale.ROOT).startsWith(KeySections.PREFIX)) {
            return;
        }
        Optional<String> section = KeySections.of(key);
        if (section.isEmpty() || !KeySections.exists(section.get())) {
            throw new IllegalArgumentException(
                    KeySections.unknown(key, section.orElse(key.substring(KeySections.PREFIX.length()))));
        }
    }
}
