package io.millrace.engine.sampling;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.MillraceException;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.provider.KernelProviders;
import io.millrace.kernels.sampling.NoiseBounds;
import io.millrace.kernels.sampling.SamplingBatch;
import io.millrace.kernels.scalar.ScalarKernels;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Draws from the tokens that `sampleLogits` lists against draws from whole rows, at the border between the two above
/// all, and steps of many rows against single ones.
class SamplerStepTest {
    private static final float NEVER = Float.NEGATIVE_INFINITY;

    private static SamplingParams params(float temperature, int topK, float topP, float minP) {
        return new SamplingParams(temperature, topK, topP, minP, OptionalInt.empty());
    }

    /// The token that a draw takes, from nothing but the whole row.
    private static int expected(float[] logits, SamplingParams params, long seed, int choice, int position) {
        int best = 0;
        for (int i = 0; i < logits.length; i++) {
            best = logits[i] > logits[best] ? i : best;
        }
        if (params.greedy()) {
            return best;
        }
        GumbelNoise noise = new GumbelNoise();
        noise.select(seed, choice, position);
        WholeRow whole = new WholeRow(logits.length, new NoisyMaximum(noise))
                .of(MemorySegment.ofArray(logits).asReadOnly(), 0);
        double floor = params.minP() > 0 ? StrictMath.log(params.minP()) : Double.NEGATIVE_INFINITY;
        return params.topP() < 1 || (params.topK() > 0 && params.topK() < logits.length)
                ? whole.drawFiltered(best, params, floor, Double.NaN)
                : whole.drawAll(best, params.temperature(), floor);
    }

    private static float[] logits(SplittableRandom random, int vocabSize, int kind) {
        float[] logits = new float[vocabSize];
        for (int i = 0; i < vocabSize; i++) {
            logits[i] = switch (kind) {
                case 0 -> (float) random.nextGaussian() * 4;
                case 1 -> (float) random.nextGaussian() + (i % 300 == 7 ? 12 : 0);
                case 2 -> random.nextInt(-8, 9) * 0.5f;
                case 3 -> random.nextInt(20) == 0 ? (float) random.nextGaussian() : NEVER;
                default -> (float) random.nextGaussian() * 0.2f;
            };
        }
        return logits;
    }

    @ParameterizedTest
    @CsvSource({
        "1,      0,    1,    0", "0.6,    0,    1,    0", "30,     0,    1,    0", "1e-20,  0,    1,    0",
        "1e7,    0,    1,    0", "1e7,    0,    0.5,  0", "1,      40,   1,    0", "1,      256,  1,    0",
        "1,      257,  1,    0", "0.7,    2000, 1,    0", "1,      0,    0.95, 0", "0.8,    0,    0.5,  0",
        "1,      40,   0.9,  0", "1,      300,  0.9,  0", "1,      9999, 0.9,  0", "1,      0,    1,    0.05",
        "1,      0,    0.9,  0.02", "1,   20,   0.9,  0.3", "1,    300,  0.9,  0.01", "0,   0,    1,    0",
        "1,      300,  1,    0.001",
    })
    void drawsWhatTheWholeRowGives(float temperature, int topK, float topP, float minP) {
        SplittableRandom random = new SplittableRandom(17);
        SamplingParams params = params(temperature, topK, topP, minP);
        for (int vocabSize : new int[] {1, 5, 200, 255, 256, 257, 3000, 9001}) {
            RowSampler sampler = new RowSampler(vocabSize);
            for (int position = 0; position < 40; position++) {
                float[] logits = logits(random, vocabSize, position % 5);
                logits[random.nextInt(vocabSize)] = 0.5f;
                assertThat(sampler.sample(logits, params, 3, 1, position).id())
                        .as("vocabulary %s, position %s", vocabSize, position)
                        .isEqualTo(expected(logits, params, 3, 1, position));
            }
        }
    }

    /// `count` tokens are equally likely, all others impossible or too unlikely to count.
    private static float[] even(int vocabSize, int count, float other) {
        float[] logits = new float[vocabSize];
        for (int i = 0; i < vocabSize; i++) {
            logits[i] = i % 7 == 3 && i / 7 < count ? 2 : other;
        }
        return logits;
    }

    /// The winner among the first tokens of [#even].
    private static int winner(int kept, long seed, int position) {
        GumbelNoise noise = new GumbelNoise();
        noise.select(seed, 0, position);
        int winner = 3;
        for (int i = 1; i < kept; i++) {
            int id = 7 * i + 3;
            if (GumbelNoise.noise(noise.word(id)) > GumbelNoise.noise(noise.word(winner))) {
                winner = id;
            }
        }
        return winner;
    }

    private static void assertDraws(SamplingParams params, float[] logits, int kept, boolean whole) {
        RowSampler sampler = new RowSampler(logits.length);
        for (int position = 0; position < 300; position++) {
            assertThat(sampler.sample(logits, params, 8, 0, position).id()).isEqualTo(winner(kept, 8, position));
        }
        assertThat(sampler.wholeRows()).isEqualTo(whole ? 300 : 0);
    }

    @ParameterizedTest
    @ValueSource(floats = {NEVER, -500})
    void topPIsTheSameOnBothSidesOfTheLastCandidate(float other) {
        float[] logits = even(6000, 400, other);
        assertDraws(params(1, 0, 254.5f / 400, 0), logits, 255, false);
        assertDraws(params(1, 0, 255.5f / 400, 0), logits, 256, false);
        assertDraws(params(1, 0, 256.5f / 400, 0), logits, 257, true);
        assertDraws(params(1, 0, 390.5f / 400, 0), logits, 391, true);
    }

    @ParameterizedTest
    @ValueSource(floats = {NEVER, -500})
    void topKIsTheSameOnBothSidesOfTheLastCandidate(float other) {
        float[] logits = even(6000, 400, other);
        assertDraws(params(1, 255, 1, 0), logits, 255, false);
        assertDraws(params(1, 256, 1, 0), logits, 256, false);
        assertDraws(params(1, 257, 1, 0), logits, 257, true);
        assertDraws(params(1, 256, 255.5f / 256, 0), logits, 256, false);
        assertDraws(params(1, 300, 100.5f / 300, 0), logits, 101, true);
    }

    @ParameterizedTest
    @ValueSource(floats = {NEVER, -500})
    void minPIsTheSameOnBothSidesOfTheLastCandidate(float other) {
        assertDraws(params(1, 0, 1, 0.5f), even(6000, 255, other), 255, false);
        assertDraws(params(1, 0, 1, 0.5f), even(6000, 256, other), 256, true);
        assertDraws(params(1, 0, 1, 0.5f), even(6000, 257, other), 257, true);
        assertDraws(params(1, 0, 99.5f / 255, 0.5f), even(6000, 255, other), 100, false);
        assertDraws(params(1, 0, 99.5f / 257, 0.5f), even(6000, 257, other), 100, true);
        assertDraws(params(1, 200, 99.5f / 200, 0.5f), even(6000, 257, other), 100, false);
    }

    @Test
    void rowsOfAStepDrawWhatSinglesDrawWithEveryProvider() {
        SplittableRandom random = new SplittableRandom(5);
        int vocabSize = 4500;
        int rows = 40;
        MemorySegment matrix = Arena.ofAuto().allocate((long) rows * vocabSize * Float.BYTES, 64);
        List<float[]> logits = new ArrayList<>();
        List<SamplingParams> params = new ArrayList<>();
        for (int row = 0; row < rows; row++) {
            logits.add(logits(random, vocabSize, row % 5));
            MemorySegment.copy(logits.get(row), 0, matrix, ValueLayout.JAVA_FLOAT, 4L * row * vocabSize, vocabSize);
            OptionalInt top = row % 3 == 0 ? OptionalInt.of(row % 21) : OptionalInt.empty();
            float temperature = row % 4 == 0 ? 0 : 0.5f + random.nextInt(3) * 0.5f;
            int topK = row % 5 == 1 ? 30 : row % 5 == 2 ? 500 : 0;
            params.add(new SamplingParams(temperature, topK, row % 7 < 3 ? 0.9f : 1, row % 6 == 5 ? 0.01f : 0, top));
        }
        List<Sampled> expected = new ArrayList<>();
        for (int row = 0; row < rows; row++) {
            RowSampler single = new RowSampler(vocabSize, new ScalarKernels());
            expected.add(single.sample(logits.get(row), params.get(row), row, row % 3, row * 11));
        }
        for (String provider : List.of("scalar", "vector", "auto")) {
            try (Kernels kernels = KernelProviders.select(provider, 2).kernels()) {
                Sampler sampler = new Sampler(vocabSize, rows);
                for (int again = 0; again < 2; again++) {
                    sampler.clear();
                    for (int row = 0; row < rows; row++) {
                        sampler.add(params.get(row), row, row % 3, row * 11);
                    }
                    sampler.scan(kernels, matrix);
                    for (int row = rows - 1; row >= 0; row--) {
                        assertThat(sampler.draw(row))
                                .as("%s, row %s", provider, row)
                                .isEqualTo(expected.get(row));
                    }
                }
            }
        }
    }

    @Test
    void aBrokenRowFailsAlone() {
        MemorySegment matrix = Arena.ofAuto().allocateFrom(ValueLayout.JAVA_FLOAT, 0, 1, Float.NaN, 4, 2, 1);
        Sampler sampler = new Sampler(3, 2);
        try (Kernels kernels = KernelProviders.select("auto", 1).kernels()) {
            sampler.add(params(1, 0, 1, 0), 1, 0, 17);
            sampler.add(SamplingParams.GREEDY, 1, 0, 0);
            sampler.scan(kernels, matrix);
            assertThatThrownBy(() -> sampler.draw(0))
                    .isInstanceOf(MillraceException.class)
                    .hasMessage("the model produced a logit that is not a number at position 17 of the answer"
                            + " (token 2: NaN; expected: a finite number)");
            assertThat(sampler.draw(1).id()).isZero();
            assertThatThrownBy(() -> sampler.scan(kernels, matrix.asSlice(0, 20)))
                    .hasMessage("logits: 20 bytes (expected: 24)");
        }
    }

    /// Logits against the noise of their own position: all tokens contend, which are too many to be listed.
    @Test
    void aFreakOfTheNoiseIsDrawnFromTheWholeRow() {
        int vocabSize = 200;
        SamplingBatch batch = new SamplingBatch(1, vocabSize);
        batch.add(1, 1).withNoise(21, 0, 4);
        float[] logits = new float[vocabSize];
        int[] words = new int[4];
        for (int id = 0; id < vocabSize; id++) {
            batch.words(0, id / 4, words);
            logits[id] = -NoiseBounds.upper(words[id % 4]);
        }
        RowSampler sampler = new RowSampler(vocabSize);
        assertThat(sampler.sample(logits, params(1, 0, 1, 0), 21, 0, 4).id())
                .isEqualTo(expected(logits, params(1, 0, 1, 0), 21, 0, 4));
        assertThat(sampler.wholeRows()).isEqualTo(1);
        sampler.sample(logits, params(1, 0, 1, 0), 21, 0, 5);
        assertThat(sampler.wholeRows()).isEqualTo(1);
    }
}
