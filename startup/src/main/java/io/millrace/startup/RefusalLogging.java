package io.millrace.startup;

import java.util.Map;
import org.springframework.boot.EnvironmentPostProcessor;
import org.springframework.boot.SpringApplication;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;

/// What a management port refuses (a path or method that it does not have) Spring tells as warnings, one or two for
/// each
/// request: whoever reaches the port could fill the disk. Whoever sets these levels otherwise gets them back.
final class RefusalLogging implements EnvironmentPostProcessor {
    private static final String LEVEL = "logging.level.org.springframework.web.servlet.";

    @Override
    public void postProcessEnvironment(ConfigurableEnvironment environment, SpringApplication application) {
        environment
                .getPropertySources()
                .addLast(new MapPropertySource(
                        "refusalLogging",
                        Map.of(
                                LEVEL + "PageNotFound",
                                "error",
                                LEVEL + "mvc.support.DefaultHandlerExceptionResolver",
                                "error")));
    }
}
