package io.millrace.kernels.sampling;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.millrace.kernels.Floats;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.SeededRandom;
import io.millrace.kernels.nativecode.IsaLevel;
import io.millrace.kernels.nativecode.NativeKernels;
import io.millrace.kernels.scalar.ScalarKernels;
import io.millrace.kernels.vector.VectorKernels;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Sampling over the vocabulary of every provider at every level against the specification, to the byte.
class SampleLogitsTest {
    private static final int[] SIZES = {1, 2, 15, 16, 17, 63, 64, 65, 255, 256, 257, 4095, 4096, 4097, 9000, 16_385};
    private static final int GLM5 = 154_880;
    private static final List<Kind> KINDS = List.of(Kind.values());

    private final SeededRandom random = SeededRandom.of("SampleLogitsTest");
    private final ScalarKernels scalar = new ScalarKernels();

    /// A provider, or one of its levels.
    record Provided(String name, Optional<IsaLevel> level) {
        Kernels open(int threads) {
            if (level.isPresent()) {
                NativeKernels kernels = NativeKernels.open(threads, level);
                kernels.start();
                return kernels;
            }
            VectorKernels kernels = new VectorKernels(threads);
            kernels.start();
            return kernels;
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Provided> providers() {
        return Stream.concat(
                Stream.of(new Provided("vector", Optional.empty())),
                NativeKernels.levels().stream().map(level -> new Provided("native " + level.id(), Optional.of(level))));
    }

    /// Logits of different kinds: spread, many ties, one that stands out, impossible ones, none possible.
    private enum Kind {
        SPREAD,
        TIES,
        FLAT,
        PEAK,
        SPARSE,
        IMPOSSIBLE,
        ZEROS,
        HUGE
    }

    private float logit(Kind kind, int id) {
        return switch (kind) {
            case SPREAD -> 4 * random.gaussian();
            case TIES -> (random.below(9) - 4) * 0.5f;
            case FLAT -> 1.25f;
            case PEAK -> id % 777 == 5 ? 30 + random.gaussian() : random.gaussian();
            case SPARSE -> random.below(50) == 0 ? random.gaussian() : Float.NEGATIVE_INFINITY;
            case IMPOSSIBLE -> Float.NEGATIVE_INFINITY;
            case ZEROS -> random.below(2) == 0 ? -0f : random.below(3) == 0 ? -Float.MIN_VALUE : 0f;
            case HUGE -> (random.below(2) == 0 ? 1 : -1) * Float.MAX_VALUE * random.below(2);
        };
    }

    /// Rows of every kind, as often as there are temperatures.
    private final class Case {
        final MemorySegment logits;
        final int vocabSize;
        final int rows;
        private final List<Integer> wanted = new ArrayList<>();
        private final List<Float> temperatureOf = new ArrayList<>();

        Case(int vocabSize, float... temperatures) {
            this.vocabSize = vocabSize;
            rows = KINDS.size() * temperatures.length;
            logits = Floats.zeros((long) rows * vocabSize);
            for (int row = 0; row < rows; row++) {
                for (int id = 0; id < vocabSize; id++) {
                    Kind kind = KINDS.get(row % KINDS.size());
                    logits.setAtIndex(JAVA_FLOAT, (long) row * vocabSize + id, logit(kind, id));
                }
                wanted.add(1 + random.below(random.below(2) == 0 ? 3 : SamplingBatch.MAX_CANDIDATES));
                temperatureOf.add(temperatures[row / KINDS.size()]);
            }
        }

        void add(SamplingBatch batch, int row) {
            batch.add(wanted.get(row), temperatureOf.get(row));
            if (row % 3 != 1) {
                batch.withScaledSum();
            }
            if (row % 2 == 0) {
                batch.withLogitSum();
            }
            if (row % 5 != 2) {
                batch.withNoise(0x123456789abcdefL * (row + 1), row - 3, row * 7);
            }
        }

        /// Samples rows `[from, from + count)`.
        SamplingCandidates run(Kernels kernels, int from, int count) {
            SamplingBatch batch = new SamplingBatch(count, vocabSize);
            for (int row = from; row < from + count; row++) {
                add(batch, row);
            }
            SamplingCandidates found = new SamplingCandidates(count);
            kernels.sampleLogits(Floats.rows(logits, from, count, vocabSize), batch, found);
            return found;
        }
    }

    private static void assertSame(SamplingCandidates actual, SamplingCandidates expected, int row, String what) {
        if (!actual.sameRow(row, expected, row)) {
            assertThat(row(actual, row)).as(what).isEqualTo(row(expected, row));
            assertThat(actual.sameRow(row, expected, row)).as(what).isTrue();
        }
    }

    private static String row(SamplingCandidates found, int row) {
        StringBuilder text = new StringBuilder();
        text.append(found.isValid(row) ? "valid" : "invalid " + found.firstInvalid(row));
        for (int rank = 0; rank < found.count(row); rank++) {
            text.append(' ').append(found.id(row, rank)).append('=').append(found.logit(row, rank));
        }
        text.append(", sums ").append(found.scaledSum(row)).append(' ').append(found.logitSum(row));
        for (int i = 0; i < found.contenders(row); i++) {
            text.append(" c").append(found.contender(row, i));
        }
        return text.toString();
    }

    @ParameterizedTest
    @MethodSource("providers")
    void agreesWithTheSpecificationToTheByte(Provided provided) {
        try (Kernels kernels = provided.open(2)) {
            for (int vocabSize : SIZES) {
                Case c = new Case(vocabSize, 1, 0.7f, 1e-10f, 40);
                SamplingCandidates expected = c.run(scalar, 0, c.rows);
                SamplingCandidates actual = c.run(kernels, 0, c.rows);
                for (int row = 0; row < c.rows; row++) {
                    assertSame(actual, expected, row, "vocabulary " + vocabSize + ", row " + row);
                }
            }
        }
    }

    @Test
    void everyProviderAgreesOnTheVocabularyOfGlm5() {
        Case c = new Case(GLM5, 1, 0.6f);
        SamplingCandidates expected = c.run(scalar, 0, c.rows);
        providers().forEach(provided -> {
            try (Kernels kernels = provided.open(2)) {
                SamplingCandidates actual = c.run(kernels, 0, c.rows);
                for (int row = 0; row < c.rows; row++) {
                    assertSame(actual, expected, row, provided + ", row " + row);
                }
            }
        });
    }

    @ParameterizedTest
    @MethodSource("providers")
    void rowsDoNotDependOnTheirBatchOrTheThreads(Provided provided) {
        Case c = new Case(20_000, 1, 0.8f);
        try (Kernels one = provided.open(1);
                Kernels two = provided.open(2)) {
            SamplingCandidates whole = c.run(one, 0, c.rows);
            SamplingCandidates shared = c.run(two, 0, c.rows);
            for (int row = 0; row < c.rows; row++) {
                assertSame(shared, whole, row, "row " + row);
                assertThat(c.run(two, row, 1).sameRow(0, whole, row)).isTrue();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("providers")
    void namesTheFirstInvalidLogit(Provided provided) {
        try (Kernels kernels = provided.open(2)) {
            for (int vocabSize : new int[] {1, 17, 64, 4097, 20_000}) {
                MemorySegment logits = random.floats(2L * vocabSize, 1);
                int first = random.below(vocabSize);
                int second = first + random.below(vocabSize - first);
                logits.setAtIndex(JAVA_FLOAT, vocabSize + second, Float.NaN);
                logits.setAtIndex(JAVA_FLOAT, vocabSize + first, Float.POSITIVE_INFINITY);
                if (random.below(2) == 0) {
                    logits.setAtIndex(JAVA_FLOAT, vocabSize + first, Float.NaN);
                }
                SamplingBatch batch = new SamplingBatch(2, vocabSize);
                for (int row = 0; row < 2; row++) {
                    batch.add(5, 1).withLogitSum().withNoise(1, 2, 3);
                }
                SamplingCandidates found = new SamplingCandidates(2);
                SamplingCandidates expected = new SamplingCandidates(2);
                kernels.sampleLogits(logits, batch, found);
                scalar.sampleLogits(logits, batch, expected);
                assertSame(found, expected, 0, "valid row");
                assertSame(found, expected, 1, "invalid row");
                assertThat(found.isValid(0)).isTrue();
                assertThat(found.isValid(1)).isFalse();
                assertThat(found.firstInvalid(1)).isEqualTo(first);
                assertThat(found.count(1)).isZero();
            }
        }
    }

    /// The specification itself: sums against double precision, and the winner of the exact noise among the contenders.
    @Test
    void sumsAreNearAndContendersHoldTheWinner() {
        int contenders = 0;
        int draws = 0;
        for (float temperature : new float[] {1, 0.5f, 3}) {
            int vocabSize = 9001;
            MemorySegment logits = random.floats(vocabSize, 3);
            for (int position = 0; position < 60; position++) {
                SamplingBatch batch = new SamplingBatch(1, vocabSize);
                batch.add(2, temperature).withScaledSum().withLogitSum().withNoise(99, 1, position);
                SamplingCandidates found = new SamplingCandidates(1);
                scalar.sampleLogits(logits, batch, found);
                double max = found.logit(0, 0);
                double sum = 0;
                double winning = Double.NEGATIVE_INFINITY;
                int winner = -1;
                int[] words = new int[4];
                for (int id = 0; id < vocabSize; id++) {
                    batch.words(0, id / 4, words);
                    double scaled = (Floats.get(logits, id) - max) / temperature;
                    double u = ((words[id % 4] & 0xffffffffL) + 0.5) / 0x1p32;
                    double noisy = scaled - Math.log(-Math.log(u));
                    sum += Math.exp(scaled);
                    if (noisy > winning) {
                        winning = noisy;
                        winner = id;
                    }
                }
                assertThat(found.scaledSum(0)).isCloseTo(sum, within(2e-6 * sum));
                assertThat(found.hasContenders(0)).isTrue();
                List<Integer> ids = new ArrayList<>();
                for (int i = 0; i < found.contenders(0); i++) {
                    ids.add(found.contender(0, i));
                }
                assertThat(ids).isSorted().contains(winner);
                contenders += ids.size();
                draws++;
            }
        }
        assertThat(contenders).as("contenders of %s draws", draws).isLessThan(4 * draws);
    }

    /// Logits against the noise make every possible token a contender: lists end at 32 of a slice and 64 of a row.
    @ParameterizedTest
    @MethodSource("providers")
    void listsContendersUpToTheLimitsAndNoneBeyond(Provided provided) {
        int vocabSize = 3 * SamplingSlices.SLICE;
        try (Kernels kernels = provided.open(1)) {
            for (int[] perSlice : new int[][] {{32, 0, 0}, {33, 0, 0}, {20, 32, 12}, {21, 32, 12}, {0, 2, 33}}) {
                SamplingBatch batch = new SamplingBatch(1, vocabSize);
                batch.add(1, 1).withNoise(7, 1, 2);
                MemorySegment logits = againstNoise(batch, perSlice);
                SamplingCandidates found = new SamplingCandidates(1);
                SamplingCandidates expected = new SamplingCandidates(1);
                kernels.sampleLogits(logits, batch, found);
                scalar.sampleLogits(logits, batch, expected);
                assertSame(found, expected, 0, "contenders");
                int all = perSlice[0] + perSlice[1] + perSlice[2];
                boolean fits = all <= 64 && perSlice[0] <= 32 && perSlice[2] <= 32;
                assertThat(found.hasContenders(0)).isEqualTo(fits);
                assertThat(found.contenders(0)).isEqualTo(fits ? all : 0);
            }
        }
    }

    private static MemorySegment againstNoise(SamplingBatch batch, int[] perSlice) {
        MemorySegment logits = Floats.zeros(batch.vocabSize());
        int[] words = new int[4];
        for (int id = 0; id < batch.vocabSize(); id++) {
            batch.words(0, id / 4, words);
            boolean possible = id % SamplingSlices.SLICE < 50 * perSlice[id / SamplingSlices.SLICE] && id % 50 == 0;
            float logit = possible ? -NoiseBounds.upper(words[id % 4]) : Float.NEGATIVE_INFINITY;
            logits.setAtIndex(JAVA_FLOAT, id, logit);
        }
        return logits;
    }

    @Test
    void stopsAllocatingAfterTheFirstStep() {
        Case c = new Case(5000, 1);
        SamplingBatch batch = new SamplingBatch(c.rows, c.vocabSize);
        for (int row = 0; row < c.rows; row++) {
            c.add(batch, row);
        }
        SamplingCandidates found = new SamplingCandidates(c.rows);
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (Kernels kernels = NativeKernels.open(1, Optional.empty())) {
            for (int i = 0; i < 3; i++) {
                kernels.sampleLogits(c.logits, batch, found);
            }
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < 10; i++) {
                kernels.sampleLogits(c.logits, batch, found);
            }
            // Some words of the calls' own while nothing is compiled; a row of logits has 20,000 bytes.
            assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(10 * 20_000L);
        }
    }

    @Test
    void refusesWhatCannotBeSampled() {
        SamplingBatch batch = new SamplingBatch(1, 100);
        assertThatThrownBy(() -> batch.add(0, 1)).hasMessage("candidates: 0 (expected: 1..256)");
        assertThatThrownBy(() -> batch.add(257, 1)).hasMessage("candidates: 257 (expected: 1..256)");
        assertThatThrownBy(() -> batch.add(1, 0)).hasMessage("temperature: 0.0 (expected: above 0, at most 1000000.0)");
        assertThatThrownBy(() -> batch.add(1, Float.NaN)).hasMessageStartingWith("temperature: NaN");
        assertThatThrownBy(() -> new SamplingBatch(1, 0)).hasMessage("vocabSize: 0 (expected: at least 1)");
        batch.add(3, 1);
        assertThatThrownBy(() -> batch.add(1, 1)).hasMessage("rows to sample: more than 1 (expected: at most that)");
        for (Kernels kernels : List.of(scalar, new VectorKernels(1))) {
            assertThatThrownBy(() -> kernels.sampleLogits(Floats.zeros(99), batch, new SamplingCandidates(1)))
                    .hasMessage("logits: 99 float32 elements (expected: at least 100)");
            assertThatThrownBy(() -> kernels.sampleLogits(Floats.zeros(100), batch, new SamplingCandidates(0)))
                    .hasMessage("rows to sample: 1 (expected: at most 0)");
        }
    }
}
