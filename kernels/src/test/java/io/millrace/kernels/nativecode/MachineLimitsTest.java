package io.millrace.kernels.nativecode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.millrace.kernels.nativecode.MachineLimits.Speeds;
import java.util.List;
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
        assertThat(limits.median().floatOpsPerSecond()).isBetween(1e7, limits.floatOpsPerSecond());
        assertThat(limits.median().int8OpsPerSecond()).isBetween(1e7, limits.int8OpsPerSecond());
    }

    @Test
    void theBetterOfTwoMeasurementsCounts() {
        assertThat(limits(new Speeds(3, 5, 6), new Speeds(2, 4, 3), 2)
                        .best(limits(new Speeds(4, 4, 7), new Speeds(3, 2, 5), 1)))
                .isEqualTo(limits(new Speeds(4, 5, 7), new Speeds(3, 4, 5), 2));
    }

    @Test
    void aroundSomethingTheBestCountsAndTheMedianOfMediansAndTheAverageOfAverages() {
        MachineLimits slow = limits(new Speeds(3, 5, 6), new Speeds(2, 6, 3), 2);
        MachineLimits fast = limits(new Speeds(10, 4, 7), new Speeds(2, 2, 6), 6);
        MachineLimits disturbed = limits(new Speeds(1, 1, 1), new Speeds(1, 1, 1), 3);

        assertThat(MachineLimits.around(List.of(slow, fast)))
                .isEqualTo(limits(new Speeds(10, 5, 7), new Speeds(2, 3, 4), 3));
        assertThat(MachineLimits.around(List.of(disturbed, slow, fast)))
                .isEqualTo(limits(new Speeds(10, 5, 7), new Speeds(2, 2, 3), 3));
    }

    @Test
    void aTypicalMomentIsTheMedianRound() {
        MachineLimits typical =
                limits(new Speeds(3, 5, 6), new Speeds(2, 4, 3), 2).typical();
        assertThat(typical.readBytesPerSecond()).isEqualTo(2);
        assertThat(typical.int8OpsPerSecond()).isEqualTo(4);
        assertThat(typical.floatOpsPerSecond()).isEqualTo(3);
    }

    private static MachineLimits limits(Speeds best, Speeds median, double meanRead) {
        return new MachineLimits(IsaLevel.AVX2, 2, best, median, meanRead);
    }
}
