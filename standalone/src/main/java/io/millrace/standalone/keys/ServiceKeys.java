package io.millrace.standalone.keys;

import io.millrace.kvcache.KvCacheSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.boot.context.properties.bind.BindHandler;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.handler.NoUnboundElementsBindHandler;
import org.springframework.boot.context.properties.bind.validation.ValidationBindHandler;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.MutablePropertySources;
import org.springframework.core.io.ClassPathResource;
import org.springframework.validation.beanvalidation.LocalValidatorFactoryBean;

/// Binds the keys of services as the services will, so that a wrong one is told before anything starts.
final class ServiceKeys {
    private ServiceKeys() {}

    /// @param keys  by their dashed form
    /// @throws org.springframework.boot.context.properties.bind.BindException  if a value is refused
    static void check(Map<String, String> keys) {
        SuiteKeys.SERVICES.forEach((section, type) -> {
            Map<String, Object> own = new LinkedHashMap<>();
            keys.forEach((key, value) -> {
                if (key.startsWith(section + ".")) {
                    own.put(key, value);
                }
            });
            if (!own.isEmpty()) {
                bind(section, type, own);
            }
        });
    }

    private static void bind(String section, Class<?> type, Map<String, Object> own) {
        MutablePropertySources sources = new MutablePropertySources();
        sources.addLast(new MapPropertySource("given", own));
        if (type == KvCacheSettings.class) {
            // Its defaults are in its file, not in its record.
            ClassPathResource file = new ClassPathResource("application.yaml", KvCacheSettings.class);
            try {
                new YamlPropertySourceLoader().load("defaults", file).forEach(sources::addLast);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        try (LocalValidatorFactoryBean validator = new LocalValidatorFactoryBean()) {
            validator.afterPropertiesSet();
            new Binder(ConfigurationPropertySources.from(sources))
                    .bind(
                            section,
                            Bindable.of(type),
                            new ValidationBindHandler(
                                    new NoUnboundElementsBindHandler(BindHandler.DEFAULT), validator));
        }
    }
}
