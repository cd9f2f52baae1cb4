package io.millrace.engine.settings;

import io.millrace.engine.profile.WeightProfile;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// Keys `millrace.weights.*`: which weights an instance serves, and how.
///
/// @param version  version number of the checkpoint; every token it computes carries it. 0 for a plain
///                 checkpoint
/// @param profile  number formats of the matrices; those of the checkpoint by default
/// @param packDir  folder of packed weights, which engines of one host share; null for a `millrace` folder
///                 in the user's cache folder (`XDG_CACHE_HOME`, else `~/.cache`); [#OFF] packs into memory
public record WeightsSettings(
        long version,
        @Nullable WeightProfile profile,
        @Nullable String packDir) {
    /// Value of `pack-dir` that keeps packed weights in memory.
    public static final String OFF = "off";

    public WeightsSettings {
        profile = profile == null ? WeightProfile.CHECKPOINT : profile;
        if (version < 0) {
            throw new IllegalArgumentException("millrace.weights.version: " + version + " (expected: 0 or more)");
        }
        if (packDir != null && packDir.isBlank()) {
            throw new IllegalArgumentException(
                    "millrace.weights.pack-dir: \"" + packDir + "\" (expected: a folder, or " + OFF + ")");
        }
    }

    public static WeightsSettings defaults() {
        return new WeightsSettings(0, null, null);
    }

    @Override
    public WeightProfile profile() {
        return Objects.requireNonNull(profile);
    }
}
