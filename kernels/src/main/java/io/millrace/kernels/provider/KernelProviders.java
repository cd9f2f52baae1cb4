package io.millrace.kernels.provider;

import io.millrace.kernels.nativecode.IsaLevel;
import io.millrace.kernels.nativecode.NativeKernels;
import io.millrace.kernels.scalar.ScalarKernels;
import io.millrace.kernels.vector.VectorKernels;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/// Chooses kernels by name.
public final class KernelProviders {
    /// What every refusal of a provider begins with.
    public static final String SUBJECT = "kernel provider: ";

    /// The names that can be chosen, in words.
    public static final String NAMES = "auto, scalar, vector or native";
    private static final String EXPECTED = " (expected: " + NAMES + ")";
    private static final String NOT_BUILT = "not part of this build";
    private static final String VECTOR_MODULE = "jdk.incubator.vector";

    private KernelProviders() {}

    /// Whether a provider of that name exists, be it in this build or not.
    public static boolean isName(String provider) {
        return Set.of("auto", "scalar", "vector", "native", "ascend").contains(provider);
    }

    /// Why a name cannot be chosen, whatever the machine, to be said after it; empty if it can.
    public static Optional<String> refusal(String provider) {
        if (provider.equals("ascend")) {
            return Optional.of(" is not available: " + NOT_BUILT + EXPECTED);
        }
        return isName(provider) ? Optional.empty() : Optional.of(EXPECTED);
    }

    /// Opens the kernels of a provider, with the best instruction set of this processor.
    ///
    /// @param provider  `auto` (the fastest that is available), `scalar`, `vector` or `native`
    /// @param threads   threads that compute, the caller's included
    /// @throws IllegalArgumentException if the provider is unknown or unavailable, with the reason
    public static SelectedKernels select(String provider, int threads) {
        return select(provider, threads, Optional.empty());
    }

    /// Opens the kernels of a provider. `auto` tries `native`, `vector` and `scalar` in this order; native
    /// code that uses no vector instructions comes after `vector`, unless an instruction set is named.
    ///
    /// @param provider  `auto` (the fastest that is available), `scalar`, `vector` or `native`
    /// @param threads   threads that compute, the caller's included
    /// @param isa       the instruction set of the native provider; empty for the best of this processor
    /// @throws IllegalArgumentException if the provider is unknown or unavailable, with the reason
    public static SelectedKernels select(String provider, int threads, Optional<IsaLevel> isa) {
        return select(provider, threads, isa, NativeKernels::levels);
    }

    /// The same.
    ///
    /// @param levels  the native instruction sets of this processor, slowest first; asked only where there
    ///                is a native library
    static SelectedKernels select(
            String provider, int threads, Optional<IsaLevel> isa, Supplier<List<IsaLevel>> levels) {
        if (threads < 1) {
            throw new IllegalArgumentException("kernel threads: " + threads + " (expected: at least 1)");
        }
        Optional<String> vectorDeclines =
                vectorDeclines(ModuleLayer.boot().findModule(VECTOR_MODULE).isPresent());
        List<SelectedKernels.Declined> declined = new ArrayList<>();
        Optional<String> nativeDeclines = NativeKernels.declines();
        if (provider.equals("auto") && nativeDeclines.isEmpty() && isa.isEmpty() && vectorDeclines.isEmpty()) {
            nativeDeclines = tooSlow(levels.get());
        }
        boolean isBroken = provider.equals("auto") && NativeKernels.isBroken();
        nativeDeclines.ifPresent(reason -> declined.add(new SelectedKernels.Declined("native", reason, isBroken)));
        vectorDeclines.ifPresent(reason -> declined.add(new SelectedKernels.Declined("vector", reason, false)));
        return switch (provider) {
            case "auto" -> {
                if (nativeDeclines.isEmpty()) {
                    yield nativeKernels(threads, isa, declined);
                }
                yield vectorDeclines.isEmpty() ? vector(threads, declined) : scalar(declined);
            }
            case "vector" -> {
                if (vectorDeclines.isPresent()) {
                    throw refuse(provider, vectorDeclines.get());
                }
                yield vector(threads, declined);
            }
            case "scalar" -> scalar(declined);
            case "native" -> {
                if (nativeDeclines.isPresent()) {
                    throw refuse(provider, nativeDeclines.get());
                }
                yield nativeKernels(threads, isa, declined);
            }
            default ->
                throw new IllegalArgumentException(
                        SUBJECT + provider + refusal(provider).orElse(EXPECTED));
        };
    }

    /// Why native kernels would be slower than those of the vector provider; empty if they are not.
    private static Optional<String> tooSlow(List<IsaLevel> levels) {
        return levels.getLast() == IsaLevel.PORTABLE
                ? Optional.of("only portable code for this processor")
                : Optional.empty();
    }

    /// Why the vector provider cannot serve.
    static Optional<String> vectorDeclines(boolean modulePresent) {
        return modulePresent
                ? Optional.empty()
                : Optional.of(
                        "module " + VECTOR_MODULE + " is absent (start java with --add-modules " + VECTOR_MODULE + ")");
    }

    private static IllegalArgumentException refuse(String provider, String reason) {
        return new IllegalArgumentException(SUBJECT + provider + " is not available: " + reason);
    }

    private static SelectedKernels scalar(List<SelectedKernels.Declined> declined) {
        return new SelectedKernels(new ScalarKernels(), declined);
    }

    private static SelectedKernels nativeKernels(
            int threads, Optional<IsaLevel> isa, List<SelectedKernels.Declined> declined) {
        NativeKernels kernels = NativeKernels.open(threads, isa);
        kernels.start();
        return new SelectedKernels(kernels, declined);
    }

    // In a method of its own: the class is loaded only where its module exists.
    private static SelectedKernels vector(int threads, List<SelectedKernels.Declined> declined) {
        VectorKernels kernels = new VectorKernels(threads);
        kernels.start();
        return new SelectedKernels(kernels, declined);
    }
}
