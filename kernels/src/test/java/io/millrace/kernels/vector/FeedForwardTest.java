package io.millrace.kernels.vector;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.kernels.ExpertGating;
import io.millrace.kernels.Floats;
import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.MixtureCase;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.SeededRandom;
import io.millrace.kernels.gating.ExpertRouting;
import io.millrace.kernels.scalar.ScalarKernels;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class FeedForwardTest {
    private final SeededRandom random = SeededRandom.of("FeedForwardTest");

    private List<MatrixView> matrices(QuantFormat format, int hidden, int width) {
        return MixtureCase.matrices(random, format, hidden, width);
    }

    private MixtureCase mixture(ExpertGating gating, QuantFormat format, int hidden, int width) {
        return MixtureCase.of(random, gating, format, hidden, width);
    }

    /// Sums of integers are exact, but an inner activation that differs in its last bit may be rounded to
    /// the next code.
    private static double tolerance(QuantFormat format) {
        return format.isInteger() ? 2e-2 : 2e-5;
    }

    @ParameterizedTest
    @EnumSource
    void denseFeedForwardAgreesWithTheSpecification(QuantFormat format) {
        try (VectorKernels vector = started(2)) {
            for (int[] size : new int[][] {{256, 768}, {33, 13}, {1, 1}, {127, 207}, {256, 1025}}) {
                int rows = 1 + random.below(9);
                List<MatrixView> matrices = matrices(format, size[0], size[1]);
                MemorySegment x = random.floats((long) rows * size[0], 2);
                MemorySegment actual = Floats.zeros((long) rows * size[0]);
                MemorySegment expected = Floats.zeros((long) rows * size[0]);
                vector.gatedMlp(MixtureCase.mlp(vector, format, matrices, true), x, rows, actual);
                ScalarKernels scalar = new ScalarKernels();
                scalar.gatedMlp(MixtureCase.mlp(scalar, format, matrices, true), x, rows, expected);
                Floats.assertClose(actual, expected, size[0], tolerance(format));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void mixtureAgreesWithTheSpecification(QuantFormat format) {
        List<ExpertGating> gatings = List.of(
                new ExpertGating(16, 4, 1, 1, true, 2.5f),
                new ExpertGating(24, 5, 8, 3, true, 1.5f),
                new ExpertGating(7, 7, 7, 7, false, 1f),
                new ExpertGating(3, 1, 1, 1, false, 2f));
        try (VectorKernels vector = started(2)) {
            for (ExpertGating gating : gatings) {
                for (int rows : new int[] {1, 3, 40}) {
                    MixtureCase mixture = mixture(gating, format, 127, 33);
                    MemorySegment x = random.floats(127L * rows, 1);
                    ScalarKernels scalar = new ScalarKernels();
                    Floats.assertClose(
                            moe(vector, mixture, x, rows), moe(scalar, mixture, x, rows), 127, tolerance(format));
                }
            }
        }
    }

    @Test
    void tiedExpertsGoToTheLowerIndex() {
        ExpertGating gating = new ExpertGating(8, 2, 1, 1, true, 1);
        MixtureCase mixture = mixture(gating, QuantFormat.F32, 16, 8);
        MemorySegment bias = Floats.of(0, 0, 1, 0, 0, 1, 1, 0);
        MixtureCase tied = mixture.withBias(bias);
        MemorySegment x = Floats.zeros(16);
        try (VectorKernels vector = started(1)) {
            ExpertRouting routing = new ExpertRouting();
            Arrays.fill(routing.scores(gating, 1), 0, 8, .5f);
            MemorySegment.copy(bias, ValueLayout.JAVA_FLOAT, 0, routing.bias(gating), 0, 8);
            routing.route(gating, 1);
            assertThat(routing.start(3) - routing.start(2)).isEqualTo(1);
            assertThat(routing.start(6) - routing.start(5)).isEqualTo(1);
            assertThat(routing.start(7) - routing.start(6)).isZero();
            Floats.assertClose(moe(vector, tied, x, 1), moe(new ScalarKernels(), tied, x, 1), 16, 1e-6);
        }
    }

    @ParameterizedTest
    @EnumSource
    void everySplitIntoCallsAndThreadsGivesTheSameBytes(QuantFormat format) {
        MixtureCase mixture = mixture(new ExpertGating(16, 4, 1, 1, true, 2.5f), format, 256, 64);
        List<MatrixView> dense = matrices(format, 256, 768);
        int rows = 140;
        MemorySegment x = random.floats(256L * rows, 1);
        MemorySegment mixed;
        MemorySegment plain = Floats.zeros(256L * rows);
        try (VectorKernels two = started(2)) {
            mixed = moe(two, mixture, x, rows);
            two.gatedMlp(MixtureCase.mlp(two, format, dense, true), x, rows, plain);
        }
        for (int threads : new int[] {1, 3}) {
            try (VectorKernels other = started(threads)) {
                Floats.assertSameBits(moe(other, mixture, x, rows), mixed);
                GatedMlpWeights weights = MixtureCase.mlp(other, format, dense, true);
                for (int from = 0; from < rows; ) {
                    int count = Math.min(rows - from, 1 + random.below(9));
                    MemorySegment part = Floats.rows(x, from, count, 256);
                    Floats.assertSameBits(moe(other, mixture, part, count), Floats.rows(mixed, from, count, 256));
                    MemorySegment y = Floats.zeros(256L * count);
                    other.gatedMlp(weights, part, count, y);
                    Floats.assertSameBits(y, Floats.rows(plain, from, count, 256));
                    from += count;
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void sizesTheScratchOfEveryWorkerBeforeItsFirstChunk(QuantFormat format) {
        MixtureCase mixture = mixture(new ExpertGating(16, 4, 1, 1, true, 2.5f), format, 256, 64);
        MemorySegment x = random.floats(256, 1);
        long[] allocations = new long[4];
        for (int threads = 1; threads < 4; threads++) {
            // Not started: the caller alone computes, so no other worker gets a chunk.
            try (VectorKernels kernels = new VectorKernels(threads)) {
                moe(kernels, mixture, x, 1);
                allocations[threads] = kernels.scratchAllocations();
            }
        }
        // Gathered rows and inner activations; rounded rows and widened weights.
        int buffersOfAWorker = format.isInteger() ? 4 : 2;
        assertThat(allocations[2] - allocations[1]).isEqualTo(buffersOfAWorker);
        assertThat(allocations[3] - allocations[2]).isEqualTo(buffersOfAWorker);
    }

    private static MemorySegment moe(Kernels kernels, MixtureCase mixture, MemorySegment x, int rows) {
        return mixture.run(kernels, x, rows);
    }

    private static VectorKernels started(int threads) {
        VectorKernels kernels = new VectorKernels(threads);
        kernels.start();
        return kernels;
    }
}
