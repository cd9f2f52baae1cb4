package io.millrace.engine.settings;

import io.millrace.kernels.MlaForm;
import io.millrace.kernels.nativecode.IsaLevel;
import io.millrace.kernels.provider.KernelProviders;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/// Keys `millrace.kernels.*`: how operators are computed. Null in the constructor means the default.
///
/// @param provider  name of the kernel provider, `auto` (default) for the best one that runs here
/// @param threads   threads of the kernel pool; 0 (default) for one per processor
/// @param mlaForm   form of latent attention; absorbed by default. The naive one is not computed by
///                  `native`, so `auto` then takes `vector`
/// @param isa       instruction set of the native provider: `auto` (default) for the best of this
///                  processor, or `portable`, `avx2`, `avxvnni`, `avx512` to use no other; not beside `vector` or
/// `scalar`
public record KernelSettings(
        @Nullable String provider,
        int threads,
        @Nullable MlaForm mlaForm,
        @Nullable String isa) {
    /// Most threads of a kernel pool.
    public static final int MAX_THREADS = 1024;

    private static final Set<String> NO_ISA = Set.of("vector", "scalar");
    private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9-]*");

    public KernelSettings {
        provider = provider == null ? "auto" : provider;
        mlaForm = mlaForm == null ? MlaForm.ABSORBED : mlaForm;
        isa = isa == null ? "auto" : isa;
        level(isa);
        if (!NAME.matcher(provider).matches()) {
            throw new IllegalArgumentException(
                    "millrace.kernels.provider: \"" + provider + "\" (expected: " + KernelProviders.NAMES + ")");
        }
        if (!KernelProviders.isName(provider)) {
            throw new IllegalArgumentException(
                    "millrace.kernels.provider: " + provider + " (expected: " + KernelProviders.NAMES + ")");
        }
        if (!isa.equals("auto") && NO_ISA.contains(provider)) {
            throw new IllegalArgumentException("millrace.kernels.isa: " + isa + " beside millrace.kernels.provider "
                    + provider + " (expected: auto; only native kernels choose an instruction set)");
        }
        if (threads < 0 || threads > MAX_THREADS) {
            throw new IllegalArgumentException("millrace.kernels.threads: " + threads
                    + " (expected: 0 for one per processor, to " + MAX_THREADS + ")");
        }
    }

    public static KernelSettings defaults() {
        return new KernelSettings(null, 0, null, null);
    }

    @Override
    public String provider() {
        return Objects.requireNonNull(provider);
    }

    @Override
    public MlaForm mlaForm() {
        return Objects.requireNonNull(mlaForm);
    }

    @Override
    public String isa() {
        return Objects.requireNonNull(isa);
    }

    /// The instruction set named; empty for the best.
    public Optional<IsaLevel> isaLevel() {
        return level(isa());
    }

    private static Optional<IsaLevel> level(String isa) {
        return isa.equals("auto") ? Optional.empty() : Optional.of(IsaLevel.parse(isa));
    }

    /// The provider to ask for: `auto` leaves out those that do not compute the form of attention.
    public String suitableProvider() {
        return provider().equals("auto") && mlaForm() == MlaForm.NAIVE ? "vector" : provider();
    }
}
