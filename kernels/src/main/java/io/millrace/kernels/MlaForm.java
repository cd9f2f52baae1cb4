package io.millrace.kernels;

/// How multi-head latent attention is computed. Both give the same result up to rounding.
public enum MlaForm {
    /// W_UK is folded into the query and W_UV applied after the weighted sum: attention runs over the latent itself.
    ABSORBED,
    /// Keys and values of every head are expanded from the latent first.
    NAIVE
}
