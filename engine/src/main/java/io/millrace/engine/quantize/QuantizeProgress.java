package io.millrace.engine.quantize;

/// Told how quantising goes, on the thread that called.
@FunctionalInterface
public interface QuantizeProgress {
    /// Tells nobody.
    QuantizeProgress SILENT = (phase, done, total) -> {};

    /// @param phase  what goes on: `checking`, `calibrating`, `writing`, `measuring`
    /// @param done   units of this phase
    /// @param total  all of them
    void advanced(String phase, long done, long total);
}
