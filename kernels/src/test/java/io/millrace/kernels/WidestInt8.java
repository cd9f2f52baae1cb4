package io.millrace.kernels;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// The widest int8 matrix, of the largest codes, times rows of the largest codes: sums that just fit.
public final class WidestInt8 {
    private static final int LARGEST = 127;
    private static final int OUTPUTS = 18;
    private static final int ROWS = 7;

    private WidestInt8() {}

    /// Codes of 127 and scales of 1; every third output is negative.
    static QuantizedMatrix matrix(int inputs) {
        MemorySegment codes = Arena.ofAuto().allocate((long) OUTPUTS * inputs);
        MemorySegment scales = Floats.zeros(OUTPUTS);
        for (int output = 0; output < OUTPUTS; output++) {
            codes.asSlice((long) output * inputs, inputs).fill((byte) (output % 3 == 0 ? -LARGEST : LARGEST));
            scales.setAtIndex(JAVA_FLOAT, output, 1);
        }
        return new QuantizedMatrix(
                QuantFormat.W8A8, OUTPUTS, inputs, inputs, ScaleAxis.OUTPUT, codes, inputs, 1, scales);
    }

    /// Inputs of 127, whose scale is 1: the first half of odd rows is negative, and all of every fourth row.
    private static int input(int row, int i) {
        boolean negative = row % 4 == 2 || (row % 2 == 1 && i < QuantizedMatrix.MAX_INT8_INPUTS / 2);
        return negative ? -LARGEST : LARGEST;
    }

    /// Asserts the exact sums, of one row and of several.
    public static void assertExact(Kernels kernels) {
        int inputs = QuantizedMatrix.MAX_INT8_INPUTS;
        MemorySegment x = Floats.zeros((long) ROWS * inputs);
        for (int row = 0; row < ROWS; row++) {
            for (int i = 0; i < inputs; i++) {
                x.setAtIndex(JAVA_FLOAT, (long) row * inputs + i, input(row, i));
            }
        }
        PackedMatrix packed = kernels.pack(matrix(inputs), Arena.ofAuto());
        for (int rows : new int[] {1, ROWS}) {
            MemorySegment y = Floats.zeros((long) rows * OUTPUTS);
            kernels.linear(packed, x.asSlice(0, (long) rows * inputs * Float.BYTES), rows, y);
            for (int row = 0; row < rows; row++) {
                long sum = row % 2 == 1 ? 0 : (row % 4 == 2 ? -1L : 1L) * LARGEST * LARGEST * inputs;
                for (int output = 0; output < OUTPUTS; output++) {
                    assertThat(Floats.get(y, (long) row * OUTPUTS + output))
                            .as("row %d of %d, output %d", row, rows, output)
                            .isEqualTo((float) (output % 3 == 0 ? -sum : sum));
                }
            }
        }
    }
}
