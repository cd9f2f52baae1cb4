package io.millrace.decode;

import io.millrace.engine.schedule.LoopSettings;
import io.millrace.rpc.ServiceTarget;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/// `millrace.decode.*`.
///
/// @param instance         name of this instance; host and process where it is not given
/// @param kvCacheTargets   gRPC target of the prefix cache; none computes everything
/// @param schedule         limits of the engine loop
/// @param verifyChecksums  whether fetched blocks are checked; a test hook, never off in service
@ConfigurationProperties(prefix = "millrace.decode", ignoreUnknownFields = false)
public record DecodeSettings(
        @Nullable String instance,
        @DefaultValue List<String> kvCacheTargets,
        @Nullable LoopSettings schedule,
        @DefaultValue("true") boolean verifyChecksums) {
    public DecodeSettings {
        ServiceTarget.require("kvCacheTargets", kvCacheTargets);
    }

    LoopSettings loop() {
        return schedule == null ? LoopSettings.defaults() : schedule;
    }
}
