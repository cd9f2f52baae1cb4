package io.millrace.engine.settings;

/// Keys `millrace.weights.*`: which weights an instance serves.
///
/// @param version  version number of the checkpoint; every token it computes carries it. 0 for a plain
///                 checkpoint
public record WeightsSettings(long version) {
    public WeightsSettings {
        if (version < 0) {
            throw new IllegalArgumentException("millrace.weights.version: " + version + " (expected: 0 or more)");
        }
    }

    public static WeightsSettings defaults() {
        return new WeightsSettings(0);
    }
}
