package io.millrace.kernels.sampling;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class NoiseBoundsTest {
    private static double noise(int word) {
        double u = ((word & 0xffffffffL) + 0.5) / 0x1p32;
        // Of a u near 1 by its complement, which is exact.
        double q = ((~word & 0xffffffffL) + 0.5) / 0x1p32;
        return -Math.log(u < 0.5 ? -Math.log(u) : -Math.log1p(-q));
    }

    private static void check(int word) {
        double noise = noise(word);
        // Rounding of a scaled logit and of the sum costs up to 1e-5 beside it.
        if (!(NoiseBounds.upper(word) > noise + 1e-4) || !(NoiseBounds.lower(word) < noise - 1e-4)) {
            assertThat(word)
                    .as("bounds %s, %s of %s", NoiseBounds.lower(word), NoiseBounds.upper(word), noise)
                    .isNull();
        }
    }

    @Test
    void noiseIsBetweenItsBounds() {
        SplittableRandom random = new SplittableRandom(4);
        for (int i = 0; i < 2_000_000; i++) {
            check(random.nextInt());
            check(-1 - (random.nextInt() >>> random.nextInt(32)));
            check(random.nextInt() >>> random.nextInt(32));
        }
        for (int i = 0; i < 100_000; i++) {
            check(i);
            check(-1 - i);
            check((1 << 30) - 50_000 + i);
            check(-(1 << 30) - 50_000 + i);
            check(Integer.MIN_VALUE + 50_000 - i);
        }
    }

    @Test
    void boundsOfLargeNoiseAreNear() {
        SplittableRandom random = new SplittableRandom(5);
        for (int i = 0; i < 200_000; i++) {
            int word = -1 - (random.nextInt() >>> (3 + random.nextInt(20)));
            boolean extreme = ~word < 32;
            assertThat((double) NoiseBounds.upper(word)).isLessThan(noise(word) + (extreme ? 1.2 : 0.15));
            assertThat(NoiseBounds.upper(word) - NoiseBounds.lower(word)).isLessThan(extreme ? 1.5f : 0.3f);
        }
        assertThat(NoiseBounds.LARGEST).isBetween(22.87f, 22.875f);
    }
}
