package io.millrace.kernels;

/// A SwiGLU feed-forward: `down(H(silu(gate x) * (up x)))`, where `H` rotates the inner activations
/// ([Hadamard]) before they are quantised; `down` was rotated to match.
///
/// @param gate      `[width, hiddenSize]`
/// @param up        `[width, hiddenSize]`
/// @param down      `[hiddenSize, width]`
/// @param rotation  block size of `H`, a power of two that divides `width`; 1 for no rotation
public record GatedMlpWeights(PackedMatrix gate, PackedMatrix up, PackedMatrix down, int rotation) {
    public GatedMlpWeights {
        Hadamard.check(rotation, gate.outFeatures());
    }

    /// Without rotation.
    public GatedMlpWeights(PackedMatrix gate, PackedMatrix up, PackedMatrix down) {
        this(gate, up, down, 1);
    }
}
