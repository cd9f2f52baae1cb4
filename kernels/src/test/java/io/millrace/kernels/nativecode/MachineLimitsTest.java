package io.millrace.kernels.nativecode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.Optional;
import org.junit.jupiter.api.Test;

/// Measured limits are those of a processor that exists.
class MachineLimitsTest {
    @Test
    void liesBetweenTheSlowestAndTheFastestProcessorImaginable() {
        assumeTrue(NativeKernels.declines().isEmpty(), "native kernels are not part of this build");
        MachineLimits limits = MachineLimits.measure(1, Optional.empty());
        assertThat(limits.isa()).isEqualTo(NativeKernels.levels().getLast());
        assertThat(limits.threads()).isEqualTo(1);
        assertThat(limits.readBytesPerSecond()).isBetween(1e8, 2e11);
        assertThat(limits.medianReadBytesPerSecond()).isBetween(1e7, limits.readBytesPerSecond());
        assertThat(limits.meanReadBytesPerSecond()).isBetween(1e7, limits.readBytesPerSecond());
        assertThat(limits.floatOpsPerSecond()).isBetween(1e8, 1e12);
        assertThat(limits.int8OpsPerSecond()).isBetween(1e8, 1e13);
    }

    @Test
    void theBetterOfTwoMeasurementsCounts() {
        MachineLimits one = new MachineLimits(IsaLevel.AVX2, 2, 3, 2, 2, 5, 6);
        assertThat(one.best(new MachineLimits(IsaLevel.AVX2, 2, 4, 1, 3, 4, 7)))
                .isEqualTo(new MachineLimits(IsaLevel.AVX2, 2, 4, 2, 3, 5, 7));
    }

    @Test
    void aroundSomethingTheBetterCountsAndTheAverageOfAverages() {
        MachineLimits before = new MachineLimits(IsaLevel.AVX2, 2, 3, 2, 2, 5, 6);
        assertThat(before.around(new MachineLimits(IsaLevel.AVX2, 2, 10, 6, 2, 4, 7)))
                .isEqualTo(new MachineLimits(IsaLevel.AVX2, 2, 10, 3, 2, 5, 7));
    }
}
