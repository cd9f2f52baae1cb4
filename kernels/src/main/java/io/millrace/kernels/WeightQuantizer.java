package io.millrace.kernels;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// Rounds weights to integers by their largest magnitudes alone.
public final class WeightQuantizer {
    private static final int MAX_INT4 = 7;
    private static final int MIN_INT4 = -8;

    private WeightQuantizer() {}

    /// One scale per row, codes -127..127, as [RowQuantization] says.
    public static QuantizedMatrix int8(MatrixView matrix, Arena arena) {
        int columns = matrix.columns();
        MemorySegment codes = arena.allocate((long) matrix.rows() * columns);
        MemorySegment scales = arena.allocate((long) matrix.rows() * Float.BYTES, Float.BYTES);
        float[] row = new float[columns];
        byte[] rounded = new byte[columns];
        for (int r = 0; r < matrix.rows(); r++) {
            matrix.copyRow(r, row);
            scales.setAtIndex(JAVA_FLOAT, r, RowQuantization.quantize(row, 0, columns, rounded));
            MemorySegment.copy(rounded, 0, codes, JAVA_BYTE, (long) r * columns, columns);
        }
        return new QuantizedMatrix(
                QuantFormat.W8A8, matrix.rows(), columns, columns, ScaleAxis.OUTPUT, codes, columns, 1, scales);
    }

    /// One bfloat16 scale per row and group of inputs: the largest magnitude over 7, rounded to
    /// bfloat16 before the codes are made with it; codes -8..7.
    ///
    /// @param group  inputs of a group, a multiple of 8
    public static QuantizedMatrix int4(MatrixView matrix, int group, Arena arena) {
        int columns = matrix.columns();
        int groups = Math.ceilDiv(columns, group);
        MemorySegment codes = arena.allocate((long) matrix.rows() * columns);
        MemorySegment scales = arena.allocate((long) matrix.rows() * groups * Float.BYTES, Float.BYTES);
        float[] row = new float[columns];
        byte[] rounded = new byte[columns];
        for (int r = 0; r < matrix.rows(); r++) {
            matrix.copyRow(r, row);
            for (int g = 0; g < groups; g++) {
                int from = g * group;
                int to = Math.min(columns, from + group);
                float scale = int4Scale(row, from, to);
                int4Codes(row, from, to, scale, rounded);
                scales.setAtIndex(JAVA_FLOAT, (long) r * groups + g, scale);
            }
            MemorySegment.copy(rounded, 0, codes, JAVA_BYTE, (long) r * columns, columns);
        }
        return new QuantizedMatrix(
                QuantFormat.W4A8, matrix.rows(), columns, group, ScaleAxis.OUTPUT, codes, columns, 1, scales);
    }

    private static float int4Scale(float[] row, int from, int to) {
        float largest = 0;
        for (int i = from; i < to; i++) {
            largest = Math.max(largest, Math.abs(row[i]));
        }
        return Bfloat16.widen(Bfloat16.round(largest / MAX_INT4));
    }

    /// Codes of `row[from, to)` for a given scale.
    public static void int4Codes(float[] row, int from, int to, float scale, byte[] codes) {
        float inverse = scale < RowQuantization.SMALLEST ? 0 : 1 / scale;
        for (int i = from; i < to; i++) {
            codes[i] = (byte) Math.clamp((long) Math.rint(row[i] * inverse), MIN_INT4, MAX_INT4);
        }
    }
}
