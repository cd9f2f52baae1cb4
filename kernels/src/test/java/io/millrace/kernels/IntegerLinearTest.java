package io.millrace.kernels;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.kernels.scalar.ScalarKernels;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/// Integer products of every provider: their sums are exact and their float steps written down, so they
/// equal the specification to the bit.
class IntegerLinearTest {
    private static final int[] SIZES = {1, 3, 7, 8, 13, 31, 32, 33, 127, 207, 256, 1025};

    private final SeededRandom random = SeededRandom.of("IntegerLinearTest");
    private final ScalarKernels scalar = new ScalarKernels();

    @ParameterizedTest
    @EnumSource
    void equalsTheSpecificationOnAwkwardSizes(ProviderCase provider) {
        try (Kernels kernels = provider.open(2)) {
            for (int in : SIZES) {
                for (int out : SIZES) {
                    if ((long) in * out <= 70_000) {
                        int rows = 1 + random.below(13);
                        MemorySegment x = random.floats((long) rows * in, 1);
                        for (QuantizedMatrix matrix : everyKind(out, in)) {
                            Floats.assertSameBits(linear(kernels, matrix, x, rows), linear(scalar, matrix, x, rows));
                        }
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void staysExactWhereSumsAreLargest(ProviderCase provider) {
        int in = 6151;
        MemorySegment ones = Floats.zeros(in * 18L);
        for (long i = 0; i < in * 18L; i++) {
            ones.setAtIndex(JAVA_FLOAT, i, i / in % 3 == 0 ? -1 : i % 7 == 0 ? 0.5f : 1);
        }
        MatrixView matrix = MatrixView.rowMajor(QuantFormat.F32, ones, 18, in);
        MemorySegment x = Floats.copy(ones.asSlice(0, in * 5L * Float.BYTES));
        try (Kernels kernels = provider.open(2)) {
            for (QuantizedMatrix quantized : List.of(
                    WeightQuantizer.int8(matrix, Arena.ofAuto()),
                    WeightQuantizer.int4(matrix, 32, Arena.ofAuto()),
                    WeightQuantizer.int4(matrix, 2048, Arena.ofAuto()))) {
                for (int rows : new int[] {1, 5}) {
                    Floats.assertSameBits(linear(kernels, quantized, x, rows), linear(scalar, quantized, x, rows));
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void sumsOfTheWidestMatrixAreExact(ProviderCase provider) {
        try (Kernels kernels = provider.open(2)) {
            WidestInt8.assertExact(kernels);
            WidestInt8.assertExact(scalar);
        }
    }

    @Test
    void widerMatricesAreRefused() {
        assertThatThrownBy(() -> WidestInt8.matrix(QuantizedMatrix.MAX_INT8_INPUTS + 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("int8 matrix of 131073 inputs (expected: at most 131072, whose sums fit 32 bits)");
    }

    @ParameterizedTest
    @EnumSource
    void roundsExtremeRowsLikeTheSpecification(ProviderCase provider) {
        long in = 40;
        MemorySegment x = random.floats(6L * in, 1);
        for (long i = 0; i < in; i++) {
            x.setAtIndex(JAVA_FLOAT, i, 0);
            x.setAtIndex(JAVA_FLOAT, in + i, i % 2 == 0 ? 1e-31f : -1e-32f);
            x.setAtIndex(JAVA_FLOAT, 2 * in + i, i % 2 == 0 ? 3e38f : -1e38f);
            x.setAtIndex(JAVA_FLOAT, 3 * in + i, (i - 20) / 254f);
        }
        x.setAtIndex(JAVA_FLOAT, 3 * in, 0.5f);
        x.setAtIndex(JAVA_FLOAT, 4 * in + 3, Float.POSITIVE_INFINITY);
        x.setAtIndex(JAVA_FLOAT, 5 * in + 39, Float.NaN);
        try (Kernels kernels = provider.open(1)) {
            for (QuantizedMatrix matrix : everyKind(19, (int) in)) {
                MemorySegment actual = linear(kernels, matrix, x, 6);
                MemorySegment expected = linear(scalar, matrix, x, 6);
                Floats.assertSameBits(Floats.rows(actual, 0, 4, 19), Floats.rows(expected, 0, 4, 19));
                for (long i = 4 * 19; i < 6 * 19; i++) {
                    assertThat(Floats.get(actual, i)).isNaN();
                    assertThat(Floats.get(expected, i)).isNaN();
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void computesARowTheSameInEveryBatchAndOnAnyNumberOfThreads(ProviderCase provider) {
        MemorySegment x = random.floats(150L * 529, 1);
        for (QuantizedMatrix matrix : everyKind(333, 529)) {
            try (Kernels one = provider.open(1);
                    Kernels two = provider.open(2);
                    Kernels three = provider.open(3)) {
                MemorySegment whole = linear(one, matrix, x, 150);
                Floats.assertSameBits(linear(two, matrix, x, 150), whole);
                Floats.assertSameBits(linear(three, matrix, x, 150), whole);
                for (int count : new int[] {1, 2, 3, 4, 5, 6, 7, 8, 64, 65}) {
                    int from = random.below(150 - count);
                    MemorySegment part = linear(two, matrix, Floats.rows(x, from, count, 529), count);
                    Floats.assertSameBits(part, Floats.rows(whole, from, count, 333));
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void rotatesLikeTheSpecification(ProviderCase provider) {
        try (Kernels kernels = provider.open(2)) {
            for (int width : new int[] {1, 3, 8, 12, 32, 96, 207, 256, 320, 1056, 6144}) {
                for (int block = 1; block <= Hadamard.largestBlock(width); block *= 2) {
                    int rows = 1 + random.below(4);
                    MemorySegment x = random.floats((long) rows * width, 1);
                    MemorySegment scale = random.floats(width, 1);
                    MemorySegment actual = Floats.zeros((long) rows * width);
                    MemorySegment expected = Floats.zeros((long) rows * width);
                    kernels.hadamard(x, block, scale, rows, actual);
                    scalar.hadamard(x, block, scale, rows, expected);
                    Floats.assertSameBits(actual, expected);
                    kernels.hadamard(x, block, scale, rows, x);
                    Floats.assertSameBits(x, expected);
                }
            }
        }
    }

    /// By output, by input, and in groups of several sizes.
    private List<QuantizedMatrix> everyKind(int out, int in) {
        Arena arena = Arena.ofAuto();
        MatrixView matrix = random.matrix(QuantFormat.F32, out, in, random.below(5));
        return List.of(
                WeightQuantizer.int8(matrix, arena),
                WeightQuantizer.int8(matrix.transposed(), arena).transposed(),
                WeightQuantizer.int4(matrix, 32, arena),
                WeightQuantizer.int4(matrix, 64, arena),
                WeightQuantizer.int4(matrix, 8 * (1 + random.below(6)), arena));
    }

    private static MemorySegment linear(Kernels kernels, QuantizedMatrix matrix, MemorySegment x, int rows) {
        MemorySegment y = Floats.zeros((long) rows * matrix.rows());
        kernels.linear(kernels.pack(matrix, Arena.ofAuto()), x, rows, y);
        return y;
    }
}
