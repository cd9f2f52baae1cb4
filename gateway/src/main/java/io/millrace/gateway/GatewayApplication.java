package io.millrace.gateway;

import io.millrace.startup.CommandLineKeys;
import io.millrace.startup.SettingsCheck;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.webmvc.autoconfigure.error.ErrorMvcAutoConfiguration;
import org.springframework.context.annotation.Configuration;

/// The gateway as a process.
@SpringBootApplication(exclude = ErrorMvcAutoConfiguration.class)
public class GatewayApplication {
    private static final String CONFIG =
            "spring.config.location=classpath:/io/millrace/gateway/,optional:file:./,optional:file:./config/";

    /// What is set, apart from what is made of it.
    @Configuration(proxyBeanMethods = false)
    @EnableConfigurationProperties({GatewayProperties.class, ModelProperties.class})
    static class Settings {}

    public static void main(String[] args) {
        builder()
                .initializers(SettingsCheck.of(Settings.class), new CommandLineKeys(args))
                .run(args);
    }

    /// The application before it runs, for those that start several in one process.
    public static SpringApplicationBuilder builder() {
        return new SpringApplicationBuilder(GatewayApplication.class).properties(CONFIG);
    }
}
