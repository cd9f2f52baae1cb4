package io.millrace.gateway;

import io.millrace.engine.settings.ServedName;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/// `millrace.model.*`.
///
/// @param path        folder of the checkpoint; the gateway reads all of it but the weights
/// @param servedName  model id of the API; the folder's name where it is not given, `millrace-mini` for
///                    the embedded
/// one
@ConfigurationProperties(prefix = "millrace.model", ignoreUnknownFields = false)
public record ModelProperties(@Nullable Path path, @Nullable String servedName) {
    public ModelProperties {
        servedName = ServedName.require("servedName", servedName);
    }
}
