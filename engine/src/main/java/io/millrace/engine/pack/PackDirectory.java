package io.millrace.engine.pack;

import io.millrace.engine.settings.WeightsSettings;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NotDirectoryException;
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
    /// @throws IllegalArgumentException if the value cannot be a path here
    public static Optional<PackDirectory> of(@Nullable String setting) {
        return of(setting, System::getenv, System.getProperty("user.home", ""));
    }

    static Optional<PackDirectory> of(
            @Nullable String setting, Function<String, @Nullable String> environment, String home) {
        if (setting != null) {
            return setting.equals(WeightsSettings.OFF)
                    ? Optional.empty()
                    : Optional.of(new PackDirectory(demandedPath(setting), true));
        }
        String cache = environment.apply("XDG_CACHE_HOME");
        return absolute(cache == null ? "" : cache)
                .or(() -> absolute(home).map(folder -> folder.resolve(".cache")))
                .map(base -> new PackDirectory(base.resolve("millrace"), false));
    }

    /// Nothing may be kept in a file, or below one.
    ///
    /// @throws NotDirectoryException if the first that is there of the folder and those above it is no folder
    void requireFolder() throws NotDirectoryException {
        for (Path at = path.toAbsolutePath(); at != null; at = at.getParent()) {
            if (Files.exists(at)) {
                if (!Files.isDirectory(at)) {
                    throw new NotDirectoryException(at.equals(path.toAbsolutePath()) ? null : at.toString());
                }
                return;
            }
        }
    }

    private static Path demandedPath(String setting) {
        try {
            return Path.of(setting);
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException(
                    "millrace.weights.pack-dir: \"" + setting + "\": " + e.getReason()
                            + " (expected: a folder that has a path here, or " + WeightsSettings.OFF + ")",
                    e);
        }
    }

    /// A folder of the surroundings, which may be anything; empty if it is no absolute path here.
    private static Optional<Path> absolute(String folder) {
        try {
            return Optional.of(Path.of(folder)).filter(Path::isAbsolute);
        } catch (InvalidPathException e) {
            return Optional.empty();
        }
    }
}
