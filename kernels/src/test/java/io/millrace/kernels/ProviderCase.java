package io.millrace.kernels;

import io.millrace.kernels.nativecode.NativeKernels;
import io.millrace.kernels.vector.VectorKernels;
import java.util.List;
import java.util.Optional;

/// The providers that are compared with the specification.
public enum ProviderCase {
    VECTOR,
    NATIVE;

    /// Started kernels on some threads; the caller closes them.
    public Kernels open(int threads) {
        return switch (this) {
            case VECTOR -> {
                VectorKernels kernels = new VectorKernels(threads);
                kernels.start();
                yield kernels;
            }
            case NATIVE -> {
                NativeKernels kernels = NativeKernels.open(threads, Optional.empty());
                kernels.start();
                yield kernels;
            }
        };
    }

    /// Forms of attention it computes.
    public List<MlaForm> forms() {
        return switch (this) {
            case VECTOR -> List.of(MlaForm.ABSORBED, MlaForm.NAIVE);
            case NATIVE -> List.of(MlaForm.ABSORBED);
        };
    }
}
