package io.millrace.decode;

import io.millrace.startup.CommandLineKeys;
import io.millrace.startup.SettingsCheck;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/// decode-service as a process.
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration
@Import({DecodeApplication.Settings.class, DecodeConfiguration.class})
public class DecodeApplication {
    private static final String CONFIG =
            "spring.config.location=classpath:/io/millrace/decode/,optional:file:./,optional:file:./config/";

    /// What is set, apart from what is made of it.
    @Configuration(proxyBeanMethods = false)
    @EnableConfigurationProperties({DecodeSettings.class, ModelSettings.class})
    static class Settings {}

    public static void main(String[] args) {
        builder()
                .initializers(SettingsCheck.of(Settings.class).andEngine(), new CommandLineKeys(args))
                .run(args);
    }

    /// The application before it runs, for those that start several in one process. A bean of type
    /// [io.millrace.engine.model.LoadedModel] registered by an initializer is used instead of loading
    /// one.
    public static SpringApplicationBuilder builder() {
        return new SpringApplicationBuilder(DecodeApplication.class).properties(CONFIG);
    }
}
