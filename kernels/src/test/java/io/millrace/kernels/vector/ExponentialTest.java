package io.millrace.kernels.vector;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.kernels.Floats;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class ExponentialTest {
    @Test
    void isAccurateOverItsRange() {
        for (float x = -86.9f; x <= 86.9f; x += 0.0137f) {
            double expected = StrictMath.exp(x);
            float actual = Exponential.exp(Lanes.broadcast(x)).lane(0);
            assertThat(Math.abs(actual - expected) / expected).as("exp(%s)", x).isLessThan(3e-7);
        }
    }

    @Test
    void isExactlyZeroBelowTheFlushAndOneAtZero() {
        assertThat(Exponential.exp(Lanes.broadcast(-87.01f)).lane(0)).isZero();
        assertThat(Exponential.exp(Lanes.broadcast(Float.NEGATIVE_INFINITY)).lane(0))
                .isZero();
        assertThat(Exponential.exp(Lanes.broadcast(0f)).lane(0)).isEqualTo(1f);
        assertThat(Exponential.exp(Lanes.broadcast(Float.NaN)).lane(0)).isNaN();
    }

    @Test
    void givesAnElementTheSameResultAtEveryPosition() {
        float[] values = new float[67];
        for (int i = 0; i < values.length; i++) {
            values[i] = 0.37f * i - 12;
        }
        MemorySegment whole = Floats.of(values);
        Exponential.sigmoid(whole.address(), values.length);
        for (int i = 0; i < values.length; i++) {
            MemorySegment single = Floats.of(values[i]);
            Exponential.sigmoid(single.address(), 1);
            Floats.assertSameBits(single, Floats.rows(whole, i, 1, 1));
        }
    }

    @Test
    void flushesTheTailOfSwiglu() {
        MemorySegment gate = Floats.of(-88f, -500f, 200f, 0f);
        MemorySegment up = Floats.of(3f, 3f, 2f, 9f);
        Exponential.swiglu(gate.address(), up.address(), 4);
        assertThat(Floats.get(gate, 0)).isZero();
        assertThat(Floats.get(gate, 1)).isZero();
        assertThat(Floats.get(gate, 2)).isEqualTo(400f);
        assertThat(Floats.get(gate, 3)).isZero();
    }
}
