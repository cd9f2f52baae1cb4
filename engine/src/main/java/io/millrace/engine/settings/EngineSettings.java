package io.millrace.engine.settings;

/// Everything an engine is told beside the checkpoint. The keys are the same in every service that
/// computes.
///
/// @param kernels  `millrace.kernels.*`
/// @param dsa      `millrace.dsa.*`
/// @param kv       `millrace.kv.*`
/// @param weights  `millrace.weights.*`
public record EngineSettings(KernelSettings kernels, DsaSettings dsa, KvSettings kv, WeightsSettings weights) {

    /// What an empty configuration gives.
    public static EngineSettings defaults() {
        return new EngineSettings(
                KernelSettings.defaults(), DsaSettings.defaults(), KvSettings.defaults(), WeightsSettings.defaults());
    }
}
