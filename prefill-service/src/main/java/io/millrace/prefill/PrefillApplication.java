package io.millrace.prefill;

import io.millrace.startup.CommandLineKeys;
import io.millrace.startup.SettingsCheck;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/// prefill-service as a process.
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration
@Import({PrefillApplication.Settings.class, PrefillConfiguration.class})
public class PrefillApplication {
    private static final String CONFIG =
            "spring.config.location=classpath:/io/millrace/prefill/,optional:file:./,optional:file:./config/";

    /// What is set, apart from what is made of it.
    @Configuration(proxyBeanMethods = false)
    @EnableConfigurationProperties({PrefillSettings.class, ModelSettings.class})
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
        return new SpringApplicationBuilder(PrefillApplication.class).properties(CONFIG);
    }
}
