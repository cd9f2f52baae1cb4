package io.millrace.gateway;

import io.millrace.gateway.route.RouteConfiguration;
import io.millrace.startup.CommandLineKeys;
import io.millrace.startup.SettingsCheck;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.webmvc.autoconfigure.error.ErrorMvcAutoConfiguration;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/// The gateway as a process. Nothing is scanned for: what sets up the management port must not set up this one.
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration(exclude = ErrorMvcAutoConfiguration.class)
@Import({GatewayApplication.Settings.class, GatewayConfiguration.class, RouteConfiguration.class})
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
