package io.millrace.engine.pack;

/// Told how packing goes, on the thread that asked for it.
@FunctionalInterface
public interface PackProgress {
    /// @param what   the part of the model just packed, e.g. `layer 3`
    /// @param done   tensors packed so far
    /// @param total  all tensors
    void packed(String what, int done, int total);
}
