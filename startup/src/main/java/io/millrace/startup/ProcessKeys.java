package io.millrace.startup;

import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.MutablePropertySources;
import org.springframework.core.env.StandardEnvironment;

/// Refuses a start with system properties or environment variables that are misspelt keys of the service, which
/// nobody would bind and so nobody notice. Those of other services, which may share an environment, and what a
/// platform sets by itself are left alone.
final class ProcessKeys implements ApplicationContextInitializer<ConfigurableApplicationContext> {
    private static final Logger log = LoggerFactory.getLogger(ProcessKeys.class);
    private static final String PROPERTY = "-D";

    @Override
    public void initialize(ConfigurableApplicationContext context) {
        MutablePropertySources sources = context.getEnvironment().getPropertySources();
        // After the service's settings are known, before anything is made of them.
        context.addBeanFactoryPostProcessor(factory -> check(factory, sources));
    }

    private static void check(ConfigurableListableBeanFactory factory, MutablePropertySources sources) {
        ServiceKeys own = ServiceKeys.of(factory);
        Set<String> sections = own.sections();
        if (sections.isEmpty()) {
            return;
        }
        KeyNames names = new KeyNames(own.keys());
        given(sources, StandardEnvironment.SYSTEM_PROPERTIES_PROPERTY_SOURCE_NAME)
                .forEach((name, _) -> checkProperty(name, names, sections));
        given(sources, StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME)
                .forEach((name, value) -> checkVariable(name, value, names, sections));
    }

    private static Map<String, String> given(MutablePropertySources sources, String source) {
        Map<String, String> given = new TreeMap<>();
        if (sources.get(source) instanceof EnumerablePropertySource<?> found) {
            for (String name : found.getPropertyNames()) {
                given.put(name, String.valueOf(found.getProperty(name)));
            }
        }
        return given;
    }

    private static void checkProperty(String name, KeyNames names, Set<String> sections) {
        Optional<String> section = KeyNames.isProperty(name) ? KeySections.of(name) : Optional.empty();
        if (section.isEmpty()) {
            return;
        }
        if (sections.contains(section.get())) {
            if (names.named(name).isEmpty()) {
                throw unknown(PROPERTY + name, names.nearest(name).map(key -> PROPERTY + key));
            }
        } else if (!KeySections.exists(section.get())
                && KeySections.nearest(section.get()).isPresent()) {
            throw new IllegalArgumentException(KeySections.unknown(PROPERTY + name, section.get()));
        }
    }

    private static void checkVariable(String name, String value, KeyNames names, Set<String> sections) {
        if (!KeyNames.isVariable(name)
                || KeyNames.isServiceLink(name, value)
                || names.ofVariable(name).isPresent()) {
            return;
        }
        Optional<String> section = KeySections.ofVariable(name);
        if (section.isPresent() && !sections.contains(section.get())) {
            return;
        }
        Optional<String> near = names.nearestVariable(name);
        if (near.isPresent()) {
            throw unknown(name, near);
        }
        if (section.isPresent()) {
            log.warn("{}: no effect, as this service has no such key", name);
        }
    }

    private static IllegalArgumentException unknown(String written, Optional<String> near) {
        return new IllegalArgumentException(written + ": unknown (expected: a key of this service"
                + near.map(name -> "; nearest is " + name).orElse("") + ")");
    }
}
