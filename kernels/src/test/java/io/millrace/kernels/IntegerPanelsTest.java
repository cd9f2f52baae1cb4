package io.millrace.kernels;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.kernels.scalar.ScalarKernels;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class IntegerPanelsTest {
    private final SeededRandom random = SeededRandom.of("IntegerPanelsTest");
    private final Arena arena = Arena.ofConfined();

    @AfterEach
    void closeArena() {
        arena.close();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3, 7, 8, 13, 31, 32, 33, 127, 207, 256, 1025})
    void keepsEveryCodeAndScale(int columns) {
        MatrixView matrix = random.matrix(QuantFormat.F32, 19, columns, 0);
        for (QuantizedMatrix m : List.of(
                WeightQuantizer.int8(matrix, arena),
                WeightQuantizer.int4(matrix, 8, arena),
                WeightQuantizer.int4(matrix, 32, arena),
                WeightQuantizer.int4(matrix, 64, arena))) {
            PackedMatrix packed = IntegerPanels.pack(m, arena);
            for (int r = 0; r < m.rows(); r++) {
                for (int c = 0; c < m.columns(); c++) {
                    assertThat(IntegerPanels.code(packed, r, c))
                            .isEqualTo(m.codes().get(JAVA_BYTE, r * m.rowStride() + c * m.columnStride()));
                }
                for (int g = 0; g < m.groups(); g++) {
                    float kept = m.format() == QuantFormat.W4A8
                            ? IntegerPanels.groupScale(packed, r, g)
                            : IntegerPanels.scale(packed, r);
                    assertThat(kept).isEqualTo(m.scales().getAtIndex(JAVA_FLOAT, (long) r * m.groups() + g));
                }
            }
        }
    }

    @Test
    void transposingMovesTheScalesToTheInputs() {
        MatrixView matrix = random.matrix(QuantFormat.F32, 12, 20, 0);
        QuantizedMatrix m = WeightQuantizer.int8(matrix, arena).transposed();
        PackedMatrix packed = IntegerPanels.pack(m, arena);
        assertThat(packed.scaleAxis()).isEqualTo(ScaleAxis.INPUT);
        assertThat(packed.outFeatures()).isEqualTo(20);
        assertThat(IntegerPanels.code(packed, 17, 5)).isEqualTo(m.codes().get(JAVA_BYTE, 5 * 20 + 17));
        assertThat(IntegerPanels.scale(packed, 5)).isEqualTo(m.scales().getAtIndex(JAVA_FLOAT, 5));
    }

    /// Rounding errors of weights and activations are independent, so their sum grows with the root of the inputs.
    @Test
    void integerProductsComeCloseToFloatOnes() {
        MatrixView matrix = random.matrix(QuantFormat.F32, 33, 320, 0);
        MemorySegment x = random.floats(2 * 320, 1);
        try (ScalarKernels kernels = new ScalarKernels()) {
            float[] exact = product(kernels, matrix, x);
            float[] byOutput = product(kernels, WeightQuantizer.int8(matrix, arena), x);
            float[] int4 = product(kernels, WeightQuantizer.int4(matrix, 32, arena), x);
            float[] byInput = product(
                    kernels, WeightQuantizer.int8(transposed(matrix), arena).transposed(), x);
            assertThat(relativeError(byOutput, exact)).isBetween(1e-4, 0.02);
            assertThat(relativeError(byInput, exact)).isBetween(1e-4, 0.02);
            assertThat(relativeError(int4, exact)).isBetween(1e-3, 0.2);
        }
    }

    private MatrixView transposed(MatrixView matrix) {
        return matrix.transposed();
    }

    private float[] product(ScalarKernels kernels, WeightSource matrix, MemorySegment x) {
        MemorySegment y = arena.allocate(2L * matrix.rows() * Float.BYTES, 64);
        kernels.linear(kernels.pack(matrix, arena), x, 2, y);
        return y.toArray(JAVA_FLOAT);
    }

    private static double relativeError(float[] found, float[] exact) {
        double error = 0;
        double size = 0;
        for (int i = 0; i < exact.length; i++) {
            error += Math.pow(found[i] - exact[i], 2);
            size += exact[i] * exact[i];
        }
        return Math.sqrt(error / size);
    }

    @Test
    void refusesMatricesThatDoNotFitTheirFormat() {
        MemorySegment bytes = arena.allocate(64);
        assertThatThrownBy(() -> new QuantizedMatrix(QuantFormat.W4A8, 2, 8, 12, ScaleAxis.OUTPUT, bytes, 8, 1, bytes))
                .hasMessageContaining("scale group: 12 inputs (expected: a multiple of 8)");
        assertThatThrownBy(() -> new QuantizedMatrix(QuantFormat.BF16, 2, 8, 8, ScaleAxis.OUTPUT, bytes, 8, 1, bytes))
                .hasMessageContaining("quantised matrix of BF16");
        assertThatThrownBy(() -> new QuantizedMatrix(QuantFormat.W8A8, 9, 8, 8, ScaleAxis.OUTPUT, bytes, 8, 1, bytes))
                .hasMessageContaining("matrix ends at byte 71");
    }

    @Test
    void rotatingTwiceGivesTheRowBack() {
        float[] row = {1, 2, 3, 4, -5, 6, 7, 8.5f, 9, 1, 0, 2};
        float[] turned = row.clone();
        Hadamard.rotate(turned, 0, 12, 4);
        assertThat(turned[0]).isEqualTo(5);
        assertThat(turned).isNotEqualTo(row);
        Hadamard.rotate(turned, 0, 12, 4);
        assertThat(turned).isEqualTo(row);
        assertThatThrownBy(() -> Hadamard.check(8, 12))
                .hasMessageContaining("expected: a power of two that divides 12");
    }

    @Test
    void roundsRowsToCodes() {
        byte[] codes = new byte[4];
        float scale = RowQuantization.quantize(new float[] {9, -2, 0.5f, 1, 4}, 1, 3, codes);
        assertThat(scale).isEqualTo(2 * (1f / 127));
        assertThat(codes).containsExactly(0, -127, 32, 64);
        assertThat(RowQuantization.quantize(new float[] {1e-38f, -1e-39f}, 0, 2, codes))
                .isZero();
        assertThat(codes[0]).isZero();
    }
}
