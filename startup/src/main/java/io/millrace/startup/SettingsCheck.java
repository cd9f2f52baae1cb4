package io.millrace.startup;

import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

/// Binds the settings of a service before anything else is made of it. The framework binds them when most of a start
/// is over, and whoever mistyped a value would wait for all of it.
public final class SettingsCheck implements ApplicationContextInitializer<ConfigurableApplicationContext> {
    private final Class<?> settings;
    private final boolean hasEngine;

    private SettingsCheck(Class<?> settings, boolean hasEngine) {
        this.settings = settings;
        this.hasEngine = hasEngine;
    }

    /// @param settings  a configuration class that enables the records of settings and does no more
    public static SettingsCheck of(Class<?> settings) {
        return new SettingsCheck(settings, false);
    }

    /// With those of an engine, too.
    public SettingsCheck andEngine() {
        return new SettingsCheck(settings, true);
    }

    @Override
    public void initialize(ConfigurableApplicationContext context) {
        try (AnnotationConfigApplicationContext alone = new AnnotationConfigApplicationContext()) {
            alone.setEnvironment(context.getEnvironment());
            alone.register(settings);
            alone.refresh();
        }
        if (hasEngine) {
            EngineKeys.bind(context.getEnvironment());
        }
    }
}
