package io.millrace.startup;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.boot.context.properties.ConfigurationProperties;

/// The keys below `millrace.` that a service takes, those of the engine included.
///
/// @param keys      in their dashed form; none if it has no settings of its own
/// @param sections  they are in
record ServiceKeys(List<String> keys, Set<String> sections) {
    static ServiceKeys of(ConfigurableListableBeanFactory factory) {
        List<String> keys = new ArrayList<>();
        Set<String> sections = new HashSet<>();
        for (String bean : factory.getBeanDefinitionNames()) {
            BeanDefinition definition = factory.getBeanDefinition(bean);
            if (definition instanceof AbstractBeanDefinition known && known.hasBeanClass()) {
                add(known.getBeanClass(), keys, sections);
            }
        }
        if (!sections.isEmpty()) {
            for (String key : EngineKeys.all()) {
                keys.add(key);
                KeySections.of(key).ifPresent(sections::add);
            }
        }
        return new ServiceKeys(List.copyOf(keys), Set.copyOf(sections));
    }

    private static void add(Class<?> settings, List<String> keys, Set<String> sections) {
        ConfigurationProperties annotation = settings.getAnnotation(ConfigurationProperties.class);
        if (annotation != null && annotation.prefix().startsWith(KeySections.PREFIX)) {
            sections.add(annotation.prefix().substring(KeySections.PREFIX.length()));
            keys.addAll(SettingKeys.of(annotation.prefix(), settings));
        }
    }
}
