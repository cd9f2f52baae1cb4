package io.millrace.kernels;

/// What each scale of an int8 matrix belongs to.
public enum ScaleAxis {
    /// One scale per output: the int32 sum over all inputs is multiplied by it.
    OUTPUT,
    /// One scale per input: the activations are multiplied by them before they are rounded. A matrix
    /// quantised by its outputs and then used transposed is of this kind.
    INPUT
}
