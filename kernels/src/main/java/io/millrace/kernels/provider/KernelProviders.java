package io.millrace.kernels.provider;

import io.millrace.kernels.scalar.ScalarKernels;
import java.util.ArrayList;
import java.util.List;

/// Chooses kernels by name.
public final class KernelProviders {
    private static final String NOT_BUILT = "not part of this build";

    private KernelProviders() {}

    /// Opens the kernels of a provider.
    ///
    /// @param provider  `auto` (the fastest that is available), `scalar`, `vector`, `native` or `ascend`
    /// @param threads   threads that compute, the caller's included
    /// @throws IllegalArgumentException if the provider is unknown or unavailable, with the reason
    public static SelectedKernels select(String provider, int threads) {
        if (threads < 1) {
            throw new IllegalArgumentException("kernel threads: " + threads + " (expected: at least 1)");
        }
        List<SelectedKernels.Declined> declined = new ArrayList<>();
        declined.add(new SelectedKernels.Declined("ascend", NOT_BUILT));
        declined.add(new SelectedKernels.Declined("native", NOT_BUILT));
        declined.add(new SelectedKernels.Declined("vector", NOT_BUILT));
        return switch (provider) {
            case "auto", "scalar" -> new SelectedKernels(new ScalarKernels(), declined);
            case "vector", "native", "ascend" ->
                throw new IllegalArgumentException("kernel provider: " + provider + " is not available: " + NOT_BUILT);
            default ->
                throw new IllegalArgumentException(
                        "kernel provider: " + provider + " (expected: auto, scalar, vector, native or ascend)");
        };
    }
}
