package io.millrace.kernels;

import io.millrace.kernels.vector.VectorKernels;

/// The providers that are compared with the specification.
public enum ProviderCase {
    VECTOR;

    /// Started kernels on some threads; the caller closes them.
    public Kernels open(int threads) {
        return switch (this) {
            case VECTOR -> {
                VectorKernels kernels = new VectorKernels(threads);
                kernels.start();
                yield kernels;
            }
        };
    }
}
