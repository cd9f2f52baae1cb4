package io.millrace.kernels;

/// A SwiGLU feed-forward: `down(silu(gate x) * (up x))`.
///
/// @param gate  `[width, hiddenSize]`
/// @param up    `[width, hiddenSize]`
/// @param down  `[hiddenSize, width]`
public record GatedMlpWeights(PackedMatrix gate, PackedMatrix up, PackedMatrix down) {}
