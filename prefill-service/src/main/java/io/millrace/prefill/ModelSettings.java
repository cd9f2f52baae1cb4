package io.millrace.prefill;

import io.millrace.engine.settings.ServedName;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/// `millrace.model.*`.
///
/// @param path        folder of the checkpoint; not needed where the process brings a loaded model
/// @param servedName  model id; the folder's name where it is not given, `millrace-mini` for the embedded
///                    one
@ConfigurationProperties(prefix = "millrace.model", ignoreUnknownFields = false)
public record ModelSettings(@Nullable Path path, @Nullable String servedName) {
    private static final String EMBEDDED_FOLDER = "mini";
    private static final String EMBEDDED_NAME = "millrace-mini";

    public ModelSettings {
        servedName = ServedName.require("servedName", servedName);
    }

    Path folder() {
        if (path == null) {
            throw new IllegalArgumentException("millrace.model.path: missing (expected: a model folder)");
        }
        return path;
    }

    String name() {
        if (servedName != null) {
            return servedName;
        }
        if (path == null) {
            return EMBEDDED_NAME;
        }
        String folder = path.toAbsolutePath().normalize().getFileName().toString();
        return folder.equals(EMBEDDED_FOLDER) ? EMBEDDED_NAME : folder;
    }
}
