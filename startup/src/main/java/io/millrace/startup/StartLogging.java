package io.millrace.startup;

import java.util.Map;
import org.springframework.boot.EnvironmentPostProcessor;
import org.springframework.boot.SpringApplication;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;

/// Silences what Spring says of a failed start before [StartFailureReporter] has its turn: pages about
/// beans. Whoever sets these levels otherwise gets them back.
final class StartLogging implements EnvironmentPostProcessor {
    private static final String LEVEL = "logging.level.";

    @Override
    public void postProcessEnvironment(ConfigurableEnvironment environment, SpringApplication application) {
        environment
                .getPropertySources()
                .addLast(new MapPropertySource(
                        "startLogging",
                        Map.of(
                                LEVEL
                                        + "org.springframework.boot.web.server.servlet.context."
                                        + "AnnotationConfigServletWebServerApplicationContext",
                                "error",
                                // Of SettingsCheck.
                                LEVEL + "org.springframework.context.annotation.AnnotationConfigApplicationContext",
                                "error",
                                LEVEL + "org.springframework.boot.autoconfigure.logging",
                                "warn")));
    }
}
