package io.millrace.startup;

import java.util.Map;
import org.springframework.boot.EnvironmentPostProcessor;
import org.springframework.boot.SpringApplication;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;

/// Silences what Spring says of a failed start before [StartFailureReporter] has its turn, pages about beans, and what
/// it warns of for each request that a management port refuses, one line or two for a path or method that is not there:
/// whoever reaches the port could fill the disk. Whoever sets these levels otherwise gets them back.
final class FrameworkLogging implements EnvironmentPostProcessor {
    private static final String LEVEL = "logging.level.";

    @Override
    public void postProcessEnvironment(ConfigurableEnvironment environment, SpringApplication application) {
        environment
                .getPropertySources()
                .addLast(new MapPropertySource(
                        "frameworkLogging",
                        Map.of(
                                LEVEL
                                        + "org.springframework.boot.web.server.servlet.context."
                                        + "AnnotationConfigServletWebServerApplicationContext",
                                "error",
                                // Of SettingsCheck.
                                LEVEL + "org.springframework.context.annotation.AnnotationConfigApplicationContext",
                                "error",
                                LEVEL + "org.springframework.boot.autoconfigure.logging",
                                "warn",
                                LEVEL + "org.springframework.web.servlet.PageNotFound",
                                "error",
                                LEVEL + "org.springframework.web.servlet.mvc.support.DefaultHandlerExceptionResolver",
                                "error")));
    }
}
