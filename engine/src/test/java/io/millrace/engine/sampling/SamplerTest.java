package io.millrace.engine.sampling;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SamplerTest {
    private static final float[] LOGITS = {1.0f, 0.2f, -0.5f, 2.0f, 0.2f, -3.0f, 1.5f};

    @Test
    void greedyTakesTheFirstLargest() {
        RowSampler sampler = new RowSampler(5);
        float[] logits = {0, 3, 1, 3, -1};
        assertThat(sampler.sample(logits, SamplingParams.GREEDY, 9, 0, 4).id()).isEqualTo(1);
        Sampled sampled = sampler.sample(logits, new SamplingParams(0, 0, 1, 0, OptionalInt.of(0)), 9, 0, 4);
        assertThat(sampled.id()).isEqualTo(1);
        double sum = Math.exp(-3) + 2 + Math.exp(-2) + Math.exp(-4);
        assertThat((double) sampled.logprob()).isCloseTo(-Math.log(sum), within(1e-6));
        assertThat(sampled.top()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "1,    0, 1,    0",
        "0.5,  0, 1,    0",
        "2,    0, 1,    0",
        "1,    3, 1,    0",
        "1,    0, 0.8,  0",
        "1,    0, 1,    0.2",
        "0.7,  5, 0.9,  0.05",
        "1.3,  4, 0.75, 0",
    })
    void drawsFollowTheFilteredDistribution(float temperature, int topK, float topP, float minP) {
        SamplingParams params = new SamplingParams(temperature, topK, topP, minP, OptionalInt.empty());
        double[] expected = distribution(LOGITS, params);
        RowSampler sampler = new RowSampler(LOGITS.length);
        int draws = 40_000;
        int[] counts = new int[LOGITS.length];
        for (int position = 0; position < draws; position++) {
            counts[sampler.sample(LOGITS, params, 1234, 0, position).id()]++;
        }
        double chiSquare = 0;
        for (int id = 0; id < counts.length; id++) {
            if (expected[id] == 0) {
                assertThat(counts[id]).as("filtered token %s", id).isZero();
            } else {
                double wanted = expected[id] * draws;
                chiSquare += (counts[id] - wanted) * (counts[id] - wanted) / wanted;
            }
        }
        // 6 degrees of freedom at most: 99.9 % of all seeds give less than 22.5.
        assertThat(chiSquare).isLessThan(22.5);
    }

    @Test
    void drawsOfSeedsAndChoicesFollowTheDistributionToo() {
        SamplingParams params = params(1, 0, 1, 0);
        double[] expected = distribution(LOGITS, params);
        RowSampler sampler = new RowSampler(LOGITS.length);
        int[] counts = new int[LOGITS.length];
        for (int seed = 0; seed < 200; seed++) {
            for (int choice = 0; choice < 200; choice++) {
                counts[
                        sampler.sample(LOGITS, params, seed * 0x9E3779B97F4A7C15L, choice, 0)
                                .id()]++;
            }
        }
        double chiSquare = IntStream.range(0, counts.length)
                .mapToDouble(id -> Math.pow(counts[id] - expected[id] * 40_000, 2) / (expected[id] * 40_000))
                .sum();
        assertThat(chiSquare).isLessThan(22.5);
    }

    @Test
    void aDrawDependsOnItsAddressAndNotOnHistory() {
        RowSampler used = new RowSampler(1000);
        SplittableRandom random = new SplittableRandom(3);
        List<Sampled> forward = new ArrayList<>();
        for (int position = 0; position < 50; position++) {
            forward.add(used.sample(logits(1000, position), params(1, 50, 0.9f, 0), 77, 2, position));
        }
        for (int i = 0; i < 200; i++) {
            int position = random.nextInt(50);
            Sampled again = (i % 2 == 0 ? new RowSampler(1000) : used)
                    .sample(logits(1000, position), params(1, 50, 0.9f, 0), 77, 2, position);
            assertThat(again).isEqualTo(forward.get(position));
        }
        assertThat(forward.stream().map(Sampled::id).distinct().count()).isGreaterThan(20);
    }

    @Test
    void skippingHopelessTokensChangesNothing() {
        int vocabSize = 3001;
        RowSampler sampler = new RowSampler(vocabSize);
        GumbelNoise noise = new GumbelNoise();
        for (int position = 0; position < 100; position++) {
            float[] logits = logits(vocabSize, position);
            noise.select(5, 1, position);
            int best = 0;
            double bestSum = Double.NEGATIVE_INFINITY;
            for (int id = 0; id < vocabSize; id++) {
                double sum = logits[id] / 1.5 + GumbelNoise.noise(noise.word(id));
                if (sum > bestSum) {
                    bestSum = sum;
                    best = id;
                }
            }
            assertThat(sampler.sample(logits, params(1.5f, 0, 1, 0), 5, 1, position)
                            .id())
                    .isEqualTo(best);
            assertThat(sampler.sample(logits, params(1.5f, vocabSize, 1, 0), 5, 1, position)
                            .id())
                    .isEqualTo(best);
        }
    }

    @Test
    void filtersKeepExactlyWhatTheyPromise() {
        float[] flat = new float[64];
        assertThat(reachable(flat, params(1, 3, 1, 0))).containsExactly(0, 1, 2);
        assertThat(reachable(flat, params(1, 8, 0.5f, 0))).containsExactly(0, 1, 2, 3);
        assertThat(reachable(flat, params(1, 1, 1, 0))).containsExactly(0);
        assertThat(reachable(flat, params(1, 0, Float.MIN_VALUE, 0))).containsExactly(0);
        assertThat(reachable(new float[] {0, 5, 4.9f, 1}, params(1, 0, 1, 1))).containsExactly(1);
        assertThat(reachable(new float[] {0, 5, 4.9f, 1}, params(1, 0, 1, 0.9f)))
                .containsExactly(1, 2);
        assertThat(reachable(new float[] {0, Float.NEGATIVE_INFINITY}, params(100, 0, 1, 0)))
                .containsExactly(0);
        assertThat(reachable(new float[] {0, 1, 0}, params(Float.MIN_VALUE, 0, 1, 0)))
                .containsExactly(1);
    }

    @Test
    void logprobsNobodyAskedForAreNotComputed() {
        RowSampler sampler = new RowSampler(LOGITS.length);
        for (SamplingParams params : List.of(SamplingParams.GREEDY, params(1, 2, 0.9f, 0))) {
            Sampled sampled = sampler.sample(LOGITS, params, 3, 0, 0);
            assertThat(sampled.logprob()).isNaN();
            assertThat(sampled.top()).isEmpty();
        }
    }

    @Test
    void topLogprobsAreTheLargestOfTheRawLogits() {
        SplittableRandom random = new SplittableRandom(8);
        RowSampler sampler = new RowSampler(300);
        for (int round = 0; round < 50; round++) {
            float[] logits = new float[300];
            for (int i = 0; i < 300; i++) {
                logits[i] = random.nextInt(-20, 20) * 0.25f;
            }
            Sampled sampled =
                    sampler.sample(logits, new SamplingParams(0.3f, 5, 0.9f, 0, OptionalInt.of(20)), round, 0, 0);
            List<Integer> expected = IntStream.range(0, 300)
                    .boxed()
                    .sorted(Comparator.<Integer>comparingDouble(i -> -logits[i]).thenComparing(i -> i))
                    .limit(20)
                    .toList();
            assertThat(sampled.top()).map(TopLogprob::id).isEqualTo(expected);
            double sum = IntStream.range(0, 300)
                    .mapToDouble(i -> Math.exp(logits[i]))
                    .sum();
            assertThat(sampled.top())
                    .allSatisfy(top -> assertThat((double) top.logprob())
                            .isCloseTo(logits[top.id()] - Math.log(sum), within(2e-6)));
            assertThat((double) sampled.logprob()).isCloseTo(logits[sampled.id()] - Math.log(sum), within(2e-6));
        }
        Sampled few = new RowSampler(3)
                .sample(new float[] {1, 2, 3}, new SamplingParams(0, 0, 1, 0, OptionalInt.of(20)), 0, 0, 0);
        assertThat(few.top()).map(TopLogprob::id).containsExactly(2, 1, 0);
        assertThat(new RowSampler(3)
                        .sample(new float[] {1, 2, 3}, new SamplingParams(0, 0, 1, 0, OptionalInt.of(0)), 0, 0, 0)
                        .top())
                .isEmpty();
    }

    @Test
    void segmentsAndArraysGiveTheSame() {
        float[] logits = logits(123, 4);
        MemorySegment segment = Arena.ofAuto().allocateFrom(ValueLayout.JAVA_FLOAT, logits);
        RowSampler sampler = new RowSampler(123);
        assertThat(sampler.sample(segment, params(1, 0, 0.9f, 0), 6, 0, 1))
                .isEqualTo(sampler.sample(logits, params(1, 0, 0.9f, 0), 6, 0, 1));
        assertThat(segment.toArray(ValueLayout.JAVA_FLOAT)).isEqualTo(logits(123, 4));
    }

    @Test
    void brokenLogitsAreAnErrorAndNotAToken() {
        RowSampler sampler = new RowSampler(3);
        for (float bad : new float[] {Float.NaN, Float.POSITIVE_INFINITY}) {
            for (SamplingParams params : List.of(SamplingParams.GREEDY, params(1, 2, 0.9f, 0))) {
                assertThatThrownBy(() -> sampler.sample(new float[] {0, bad, 1}, params, 0, 0, 0))
                        .isInstanceOfSatisfying(
                                MillraceException.class,
                                e -> assertThat(e.code()).isEqualTo(ErrorCode.BROKEN_LOGITS))
                        .hasMessageContaining("(token 1: " + bad + "; expected: a finite number)");
            }
        }
        float[] impossible = new float[3];
        Arrays.fill(impossible, Float.NEGATIVE_INFINITY);
        assertThatThrownBy(() -> sampler.sample(impossible, SamplingParams.GREEDY, 0, 0, 0))
                .hasMessageContaining("no possible token at position 0");
        assertThatThrownBy(() -> sampler.sample(new float[2], SamplingParams.GREEDY, 0, 0, 0))
                .hasMessage("logits: 8 bytes (expected: 12)");
    }

    @ParameterizedTest
    @CsvSource({
        "-1,0,1,0,temperature", "NaN,0,1,0,temperature", "Infinity,0,1,0,temperature", "1,-1,1,0,topK", "1,0,0,0,topP",
        "1,0,1.01,0,topP", "1,0,NaN,0,topP", "1,0,1,-0.1,minP", "1,0,1,1.1,minP", "1,0,1,NaN,minP",
    })
    void parametersOutOfRangeAreRefusedByName(float temperature, int topK, float topP, float minP, String name) {
        assertThatThrownBy(() -> params(temperature, topK, topP, minP))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(name + ": ")
                .hasMessageContaining("(expected: ");
    }

    @Test
    void topLogprobsOutOfRangeAreRefused() {
        for (int count : new int[] {-1, 21}) {
            assertThatThrownBy(() -> new SamplingParams(1, 0, 1, 0, OptionalInt.of(count)))
                    .hasMessage("topLogprobs: " + count + " (expected: 0..20)");
        }
    }

    private static SamplingParams params(float temperature, int topK, float topP, float minP) {
        return new SamplingParams(temperature, topK, topP, minP, OptionalInt.empty());
    }

    private static float[] logits(int vocabSize, int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        float[] logits = new float[vocabSize];
        for (int i = 0; i < vocabSize; i++) {
            logits[i] = (float) random.nextGaussian() * 3;
        }
        return logits;
    }

    private static List<Integer> reachable(float[] logits, SamplingParams params) {
        RowSampler sampler = new RowSampler(logits.length);
        return IntStream.range(0, 2000)
                .mapToObj(position ->
                        sampler.sample(logits, params, 11, 0, position).id())
                .distinct()
                .sorted()
                .toList();
    }

    /// The distribution after temperature, min-p, top-k, top-p, in the plainest form.
    private static double[] distribution(float[] logits, SamplingParams params) {
        double[] p = new double[logits.length];
        for (int i = 0; i < p.length; i++) {
            p[i] = Math.exp(logits[i] / params.temperature());
        }
        double max = Arrays.stream(p).max().orElseThrow();
        List<Integer> order = IntStream.range(0, p.length)
                .boxed()
                .filter(i -> p[i] >= params.minP() * max)
                .sorted(Comparator.<Integer>comparingDouble(i -> -p[i]).thenComparing(i -> i))
                .limit(params.topK() == 0 ? p.length : params.topK())
                .toList();
        double total = order.stream().mapToDouble(i -> p[i]).sum();
        double mass = 0;
        double[] result = new double[p.length];
        for (int id : order) {
            if (mass >= params.topP() * total) {
                break;
            }
            mass += p[id];
            result[id] = p[id];
        }
        double kept = mass;
        return Arrays.stream(result).map(value -> value / kept).toArray();
    }
}
