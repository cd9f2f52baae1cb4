package io.millrace.kvcache;

import io.millrace.startup.CommandLineKeys;
import io.millrace.startup.SettingsCheck;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/// kv-cache-service: the shared prefix cache.
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration
@Import({KvCacheApplication.Settings.class, KvCacheConfiguration.class})
public class KvCacheApplication {
    private static final String SETTINGS_LOCATIONS =
            "classpath:/io/millrace/kvcache/,optional:file:./,optional:file:./config/";

    /// What is set, apart from what is made of it.
    @Configuration(proxyBeanMethods = false)
    @EnableConfigurationProperties(KvCacheSettings.class)
    static class Settings {}

    public static void main(String[] args) {
        builder()
                .initializers(SettingsCheck.of(Settings.class), new CommandLineKeys(args))
                .run(args);
    }

    /// The application, to be started alone or beside others in one JVM: its settings lie in its own
    /// package, so that
    /// several services fit on one class path.
    public static SpringApplicationBuilder builder() {
        return new SpringApplicationBuilder(KvCacheApplication.class)
                .properties("spring.config.location=" + SETTINGS_LOCATIONS);
    }
}
