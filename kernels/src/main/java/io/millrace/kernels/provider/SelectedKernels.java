package io.millrace.kernels.provider;

import io.millrace.kernels.Kernels;
import java.util.List;
import java.util.stream.Collectors;

/// The outcome of a provider selection.
///
/// @param kernels   the chosen provider's kernels; the caller closes them
/// @param declined  the providers of this build that were passed over, with the reason each declined
public record SelectedKernels(Kernels kernels, List<Declined> declined) {
    public SelectedKernels {
        declined = List.copyOf(declined);
    }

    /// `; native declined: only portable code for this processor`, and so on for each that declined.
    public String declinedText() {
        return declined.stream()
                .map(other -> "; " + other.provider() + " declined: " + other.reason())
                .collect(Collectors.joining());
    }

    /// Whether others would have been chosen, were it not for a fault that can be put right.
    public boolean isFallback() {
        return declined.stream().anyMatch(Declined::isBroken);
    }

    /// A provider that cannot serve this process.
    ///
    /// @param isBroken  whether it is part of this build and meant for this machine, and something is in its way
    public record Declined(String provider, String reason, boolean isBroken) {}
}
