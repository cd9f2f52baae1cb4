package io.millrace.engine.pack;

import io.millrace.engine.settings.WeightsSettings;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/// Where packs are kept.
///
/// @param path      the folder
/// @param demanded  whether the configuration names it: then it must work; a default that does not is
///                  passed over with a warning
public record PackDirectory(Path path, boolean demanded) {

    /// The folder that `millrace.weights.pack-dir` means here; empty to pack into memory.
    ///
    /// @param setting  the key's value, null if it is not set
    public static Optional<PackDirectory> of(@Nullable String setting) {
        return of(setting, System::getenv, System.getProperty("user.home", ""));
    }

    static Optional<PackDirectory> of(
            @Nullable String setting, Function<String, @Nullable String> environment, String home) {
        if (setting != null) {
            return setting.equals(WeightsSettings.OFF)
                    ? Optional.empty()
                    : Optional.of(new PackDirectory(Path.of(setting), true));
        }
        String cache = environment.apply("XDG_CACHE_HOME");
        Path base = cache != null && Path.of(cache).isAbsolute() ? Path.of(cache) : Path.of(home, ".cache");
        return base.isAbsolute() ? Optional.of(new PackDirectory(base.resolve("millrace"), false)) : Optional.empty();
    }
}
