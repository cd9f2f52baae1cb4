package io.millrace.engine.model;

/// Told how packing goes, on the loading thread. A model whose pack is there already says nothing.
@FunctionalInterface
public interface LoadProgress {
    /// Tells nobody.
    LoadProgress SILENT = (what, done, total) -> {};

    /// @param what   the part just packed, e.g. `layer 3`
    /// @param done   tensors packed so far
    /// @param total  all tensors
    void packed(String what, int done, int total);
}
