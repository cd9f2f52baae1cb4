package io.millrace.engine.sampling;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class StableExpTest {

    @Test
    void agreesWithStrictMathTo15Digits() {
        SplittableRandom random = new SplittableRandom(1);
        double worst = 0;
        for (int i = 0; i < 200_000; i++) {
            double x = -700 * Math.pow(random.nextDouble(), 3);
            double expected = StrictMath.exp(x);
            worst = Math.max(worst, Math.abs(StableExp.exp(x) - expected) / expected);
        }
        assertThat(worst).isLessThan(1e-15);
    }

    @Test
    void edgesAreExact() {
        assertThat(StableExp.exp(0)).isEqualTo(1);
        assertThat(StableExp.exp(-0.0)).isEqualTo(1);
        assertThat(StableExp.exp(-700)).isPositive();
        assertThat(StableExp.exp(-701)).isZero();
        assertThat(StableExp.exp(Double.NEGATIVE_INFINITY)).isZero();
    }
}
