package io.millrace.kernels.vector;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.kernels.Floats;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.SeededRandom;
import io.millrace.kernels.scalar.ScalarKernels;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class LinearTest {
    private static final int[] SIZES = {1, 3, 7, 8, 13, 31, 32, 33, 127, 207, 256, 1025};

    private final SeededRandom random = SeededRandom.of("LinearTest");

    @ParameterizedTest
    @EnumSource(names = {"F32", "BF16"})
    void agreesWithTheSpecificationOnAwkwardSizes(QuantFormat format) {
        try (VectorKernels vector = started(2)) {
            for (int in : SIZES) {
                for (int out : SIZES) {
                    if ((long) in * out <= 70_000) {
                        int rows = 1 + random.below(13);
                        MatrixView matrix = random.matrix(format, out, in, random.below(5));
                        MemorySegment x = random.floats((long) rows * in, 1);
                        Floats.assertClose(
                                linear(vector, matrix, x, rows),
                                linear(new ScalarKernels(), matrix, x, rows),
                                out,
                                2e-5);
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"F32", "BF16"})
    void computesARowTheSameInEveryBatchAndOnAnyNumberOfThreads(QuantFormat format) {
        MatrixView matrix = random.matrix(format, 333, 129, 0);
        MemorySegment x = random.floats(150L * 129, 1);
        try (VectorKernels one = started(1);
                VectorKernels two = started(2);
                VectorKernels three = started(3)) {
            MemorySegment whole = linear(one, matrix, x, 150);
            Floats.assertSameBits(linear(two, matrix, x, 150), whole);
            Floats.assertSameBits(linear(three, matrix, x, 150), whole);
            for (int count : new int[] {1, 2, 3, 4, 5, 6, 7, 8, 64, 65}) {
                int from = random.below(150 - count);
                MemorySegment part = linear(two, matrix, Floats.rows(x, from, count, 129), count);
                Floats.assertSameBits(part, Floats.rows(whole, from, count, 333));
            }
        }
    }

    @Test
    void readsStridedAndTransposedViews() {
        MatrixView matrix = random.matrix(QuantFormat.BF16, 40, 24, 5);
        MemorySegment x = random.floats(4L * 40, 1);
        try (VectorKernels vector = started(1)) {
            MatrixView turned = matrix.transposed();
            Floats.assertClose(linear(vector, turned, x, 4), linear(new ScalarKernels(), turned, x, 4), 24, 1e-5);
            MatrixView part = matrix.rowRange(7, 20);
            MemorySegment z = random.floats(24, 1);
            Floats.assertClose(linear(vector, part, z, 1), linear(new ScalarKernels(), part, z, 1), 20, 1e-5);
        }
    }

    @Test
    void widensWeightsExactlyAndKeepsExtremes() {
        MemorySegment values = Floats.of(1e38f, -1e-38f, 3.0f, 1e-42f, 0f, -0f, 65504f, 2e38f);
        MatrixView matrix =
                MatrixView.rowMajor(QuantFormat.BF16, SeededRandom.inFormat(QuantFormat.BF16, values), 8, 1);
        MemorySegment x = Floats.of(1f);
        try (VectorKernels vector = started(1)) {
            Floats.assertClose(linear(vector, matrix, x, 1), linear(new ScalarKernels(), matrix, x, 1), 1, 0);
            PackedMatrix packed = vector.pack(matrix, Arena.ofAuto());
            assertThat(VectorKernels.FLOATS.element(packed, 2, 0)).isEqualTo(3f);
        }
    }

    @Test
    void refusesMatricesOfAnotherProviderAndShortMemory() {
        MatrixView matrix = random.matrix(QuantFormat.F32, 4, 4, 0);
        PackedMatrix foreign = new ScalarKernels().pack(matrix, Arena.ofAuto());
        try (VectorKernels vector = started(1)) {
            MemorySegment x = Floats.zeros(4);
            assertThatThrownBy(() -> vector.linear(foreign, x, 1, Floats.zeros(4)))
                    .hasMessageContaining("packed by the same provider");
            PackedMatrix own = vector.pack(matrix, Arena.ofAuto());
            assertThatThrownBy(() -> vector.linear(own, x, 2, Floats.zeros(8)))
                    .hasMessage("x: 4 float32 elements (expected: at least 8)");
            assertThatThrownBy(() -> vector.linear(own, MemorySegment.ofArray(new float[4]), 1, Floats.zeros(4)))
                    .hasMessageContaining("native memory");
        }
    }

    @Test
    void normalisesAndAddsLikeTheSpecification() {
        try (VectorKernels vector = started(2)) {
            for (int width : SIZES) {
                int rows = 1 + random.below(40);
                MemorySegment x = random.floats((long) rows * width, 3);
                MemorySegment gain = random.floats(width, 1);
                MemorySegment actual = Floats.zeros((long) rows * width);
                MemorySegment expected = Floats.zeros((long) rows * width);
                vector.rmsNorm(x, gain, 1e-5f, rows, actual);
                new ScalarKernels().rmsNorm(x, gain, 1e-5f, rows, expected);
                Floats.assertClose(actual, expected, width, 1e-6);
                vector.add(x, actual, (long) rows * width);
                MemorySegment inPlace = Floats.copy(x);
                vector.rmsNorm(inPlace, gain, 1e-5f, rows, inPlace);
                vector.add(x, inPlace, (long) rows * width);
                Floats.assertSameBits(inPlace, actual);
            }
        }
    }

    private static MemorySegment linear(Kernels kernels, MatrixView matrix, MemorySegment x, int rows) {
        MemorySegment y = Floats.zeros((long) rows * matrix.rows());
        kernels.linear(kernels.pack(matrix, Arena.ofAuto()), x, rows, y);
        return y;
    }

    private static VectorKernels started(int threads) {
        VectorKernels kernels = new VectorKernels(threads);
        kernels.start();
        return kernels;
    }
}
