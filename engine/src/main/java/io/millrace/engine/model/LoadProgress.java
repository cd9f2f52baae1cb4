package io.millrace.engine.model;

/// Told how loading goes, on the loading thread.
@FunctionalInterface
public interface LoadProgress {
    /// Tells nobody.
    LoadProgress SILENT = (what, done, total) -> {};

    /// @param what   the part just packed, e.g. `layer 3`
    /// @param done   parts packed so far
    /// @param total  all parts
    void packed(String what, int done, int total);
}
