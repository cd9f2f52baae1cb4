package io.millrace.engine.sampling;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class GumbelNoiseTest {

    @Test
    void boundIsNeverBelowTheNoise() {
        SplittableRandom random = new SplittableRandom(2);
        for (int i = 0; i < 100_000; i++) {
            int word = i < 64 ? -1 << (i % 32) >>> (i / 32) : random.nextInt();
            assertThat(GumbelNoise.noiseBound(word)).isGreaterThan(GumbelNoise.noise(word));
        }
        for (int word : new int[] {0, 1, -1, -2, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
            assertThat(GumbelNoise.noise(word)).isFinite();
            assertThat(GumbelNoise.noiseBound(word)).isGreaterThan(GumbelNoise.noise(word));
        }
    }

    @Test
    void momentsAreThoseOfTheGumbelDistribution() {
        GumbelNoise noise = new GumbelNoise();
        noise.select(42, 0, 7);
        int count = 400_000;
        double sum = 0;
        double squares = 0;
        for (int id = 0; id < count; id++) {
            double value = GumbelNoise.noise(noise.word(id));
            sum += value;
            squares += value * value;
        }
        double mean = sum / count;
        assertThat(mean).isCloseTo(0.5772156649, within(0.008));
        assertThat(squares / count - mean * mean).isCloseTo(Math.PI * Math.PI / 6, within(0.02));
    }

    @Test
    void everyPartOfTheAddressChangesTheWord() {
        GumbelNoise noise = new GumbelNoise();
        noise.select(1, 2, 3);
        int word = noise.word(9);
        int next = noise.word(8);
        assertThat(noise.word(9)).isEqualTo(word).isNotEqualTo(next);
        noise.select(1L << 32 | 1, 2, 3);
        assertThat(noise.word(9)).isNotEqualTo(word);
        noise.select(1, 3, 3);
        assertThat(noise.word(9)).isNotEqualTo(word);
        noise.select(1, 2, 4);
        assertThat(noise.word(9)).isNotEqualTo(word);
        noise.select(1, 2, 3);
        assertThat(noise.word(9)).isEqualTo(word);
    }
}
