package io.millrace.standalone.doctor;

import io.millrace.kernels.nativecode.IsaLevel;
import java.util.Optional;

/// What is to compute, whether it can or not.
///
/// @param provider  name of the kernel provider, or `auto`
/// @param isa       instruction set of the native one; empty for the best
/// @param threads   0 for one for each processor
public record AskedKernels(String provider, Optional<IsaLevel> isa, int threads) {}
