package io.millrace.decode;

import io.millrace.engine.settings.DsaSettings;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.settings.KvSettings;
import io.millrace.engine.settings.WeightsSettings;
import java.util.function.Supplier;
import org.springframework.boot.context.properties.bind.BindHandler;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.handler.NoUnboundElementsBindHandler;
import org.springframework.core.env.Environment;

/// Binds the engine keys; one that does not exist fails the start.
final class EngineKeys {
    private EngineKeys() {}

    static EngineSettings bind(Environment environment) {
        Binder binder = Binder.get(environment);
        return new EngineSettings(
                part(binder, "millrace.kernels", KernelSettings.class, KernelSettings::defaults),
                part(binder, "millrace.dsa", DsaSettings.class, DsaSettings::defaults),
                part(binder, "millrace.kv", KvSettings.class, KvSettings::defaults),
                part(binder, "millrace.weights", WeightsSettings.class, WeightsSettings::defaults));
    }

    private static <T> T part(Binder binder, String prefix, Class<T> type, Supplier<T> defaults) {
        return binder.bind(
                        prefix,
                        Bindable.of(type),
                        new NoUnboundElementsBindHandler(BindHandler.DEFAULT, source -> true))
                .orElseGet(defaults);
    }
}
