package io.millrace.standalone.suite;

import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// What a suite is told.
///
/// @param model            folder of the checkpoint
/// @param servedModelName  model id of the API; null for the folder's name
/// @param host             address the REST surface listens on
/// @param port             its port; 0 for any free one
/// @param engine           of prefill and decode, which share the loaded model
/// @param grace            how long requests under way may go on once the suite is closed
/// @param serviceKeys      keys `millrace.prefill.*`, `decode`, `gateway` and `kv-cache`, for those services
public record SuiteSettings(
        Path model,
        @Nullable String servedModelName,
        String host,
        int port,
        EngineSettings engine,
        Duration grace,
        Map<String, String> serviceKeys) {
    /// Nobody from outside reaches it.
    public static final String LOOPBACK = "127.0.0.1";

    private static final int MAX_PORT = 65_535;
    private static final Duration GRACE = Duration.ofSeconds(5);

    public SuiteSettings {
        serviceKeys = Map.copyOf(serviceKeys);
        if (port < 0 || port > MAX_PORT) {
            throw new IllegalArgumentException("port: " + port + " (expected: 0.." + MAX_PORT + ")");
        }
    }

    /// Any free port of the loopback address.
    public static SuiteSettings of(Path model) {
        return new SuiteSettings(model, null, LOOPBACK, 0, EngineSettings.defaults(), GRACE, Map.of());
    }

    public SuiteSettings at(String newHost, int newPort) {
        return new SuiteSettings(model, servedModelName, newHost, newPort, engine, grace, serviceKeys);
    }

    public SuiteSettings named(@Nullable String name) {
        return new SuiteSettings(model, name, host, port, engine, grace, serviceKeys);
    }

    public SuiteSettings with(EngineSettings changed) {
        return new SuiteSettings(model, servedModelName, host, port, changed, grace, serviceKeys);
    }

    public SuiteSettings withServiceKeys(Map<String, String> keys) {
        return new SuiteSettings(model, servedModelName, host, port, engine, grace, keys);
    }

    /// @param newGrace  how long requests under way may go on once the suite is closed
    public SuiteSettings closingWithin(Duration newGrace) {
        return new SuiteSettings(model, servedModelName, host, port, engine, newGrace, serviceKeys);
    }

    /// @param provider  name of the kernel provider, or `auto`
    public SuiteSettings computedBy(String provider) {
        KernelSettings old = engine.kernels();
        KernelSettings kernels = new KernelSettings(provider, old.threads(), old.mlaForm(), old.isa());
        return with(new EngineSettings(kernels, engine.dsa(), engine.kv(), engine.weights()));
    }
}
