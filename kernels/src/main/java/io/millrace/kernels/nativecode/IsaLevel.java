package io.millrace.kernels.nativecode;

import java.util.Locale;

/// Instruction sets the C kernels are compiled for, slowest first. All give the same bytes.
public enum IsaLevel {
    /// Any processor the compiler targets: plain C.
    PORTABLE(1),
    /// x86-64 with AVX2 and FMA.
    AVX2(2),
    /// AVX2 with 8-bit dot products.
    AVXVNNI(4),
    /// AVX-512 F, BW, VL, DQ with VNNI.
    AVX512(8);

    private final int bit;

    IsaLevel(int bit) {
        this.bit = bit;
    }

    /// As in configuration and in the names of C functions.
    public String id() {
        return name().toLowerCase(Locale.ROOT);
    }

    /// The bit of `mr_levels()` that stands for it.
    int bit() {
        return bit;
    }

    /// Parses [#id()].
    ///
    /// @throws IllegalArgumentException naming the known levels
    public static IsaLevel parse(String id) {
        for (IsaLevel level : values()) {
            if (level.id().equals(id)) {
                return level;
            }
        }
        throw new IllegalArgumentException(
                "millrace.kernels.isa: \"" + id + "\" (expected: auto, portable, avx2, avxvnni or avx512)");
    }
}
