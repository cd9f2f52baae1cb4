package io.millrace.standalone.bench;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.kernels.nativecode.IsaLevel;
import io.millrace.kernels.nativecode.MachineLimits;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LimitsAroundTest {
    private static Optional<MachineLimits> limits(double read) {
        return Optional.of(new MachineLimits(IsaLevel.AVX2, 2, read, read / 2, 10 * read, 100 - read));
    }

    @Test
    void ofBothSidesOfAMeasurementTheBetterCounts() {
        LimitsAround limits = new LimitsAround(limits(40));
        limits.add(limits(70));

        assertThat(limits.median())
                .contains(new MachineLimits(IsaLevel.AVX2, 2, 70, 2 / (1.0 / 20 + 1.0 / 35), 700, 60));
    }

    @Test
    void ofAllMeasurementsTheMedianCounts() {
        LimitsAround limits = new LimitsAround(limits(40));
        limits.add(limits(40));
        limits.add(limits(50));
        limits.add(limits(50));
        limits.add(limits(50));
        limits.add(limits(90));

        // Around the measurements: 40, 50, 50, 50, 90 to read, on the average 20, 22.2, 25, 25, 32.1, and 60, 60, 50,
        // 50, 50 float.
        assertThat(limits.median()).contains(new MachineLimits(IsaLevel.AVX2, 2, 50, 25, 500, 50));
    }

    @Test
    void ofAnEvenNumberTheMeanOfTheMiddleCounts() {
        LimitsAround limits = new LimitsAround(limits(40));
        limits.add(limits(40));
        limits.add(limits(60));

        assertThat(limits.median()).contains(new MachineLimits(IsaLevel.AVX2, 2, 50, (20 + 24) / 2.0, 500, 60));
    }

    @Test
    void aMachineThatIsNotMeasuredHasNone() {
        LimitsAround limits = new LimitsAround(Optional.empty());
        limits.add(Optional.empty());

        assertThat(limits.median()).isEmpty();
    }
}
