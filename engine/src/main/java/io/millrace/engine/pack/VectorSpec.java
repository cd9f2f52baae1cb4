package io.millrace.engine.pack;

/// A float32 vector that a model needs: the gain of a norm, or a bias.
///
/// @param name  the checkpoint's tensor, e.g. `model.norm.weight`
/// @param size  elements
public record VectorSpec(String name, int size) {
    public VectorSpec {
        if (size < 1) {
            throw new IllegalArgumentException(name + ": " + size + " elements (expected: at least 1)");
        }
    }
}
