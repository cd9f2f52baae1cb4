package io.millrace.startup;

import io.millrace.engine.settings.DsaSettings;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.settings.KvSettings;
import io.millrace.engine.settings.WeightsSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.springframework.boot.context.properties.bind.BindHandler;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.handler.NoUnboundElementsBindHandler;
import org.springframework.core.env.Environment;

/// Binds the engine keys; one that does not exist fails the start.
public final class EngineKeys {
    private static final Map<String, Class<?>> SECTIONS = Map.of(
            "millrace.kernels", KernelSettings.class,
            "millrace.dsa", DsaSettings.class,
            "millrace.kv", KvSettings.class,
            "millrace.weights", WeightsSettings.class);

    private EngineKeys() {}

    /// All keys of an engine.
    public static List<String> all() {
        List<String> keys = new ArrayList<>();
        SECTIONS.forEach((prefix, type) -> keys.addAll(SettingKeys.of(prefix, type)));
        return keys;
    }

    /// The section a key is in, if it is one of an engine.
    static Optional<AcceptedValues.Section> section(String key) {
        String prefix = key.substring(0, Math.max(0, key.lastIndexOf('.')));
        return Optional.ofNullable(SECTIONS.get(prefix)).map(type -> new AcceptedValues.Section(prefix, type));
    }

    /// @throws org.springframework.boot.context.properties.bind.BindException  if a value is refused or a
    ///     key unknown; [StartFailure#sentence] says which
    public static EngineSettings bind(Environment environment) {
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
