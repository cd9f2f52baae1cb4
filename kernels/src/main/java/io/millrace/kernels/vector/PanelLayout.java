package io.millrace.kernels.vector;

import io.millrace.kernels.Bfloat16;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.QuantFormat;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/// The packed layout of weights: panels of one vector of outputs, each a stream over the inputs,
/// `[out / lanes][in][lanes]`; in BF16 two inputs share a lane, `[out / lanes][in / 2][lanes][2]`. The
/// last panel and, in BF16, the last input of an odd number are filled with zeros.
final class PanelLayout {
    static final String NAME = "vector-panels-" + Lanes.COUNT;

    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private PanelLayout() {}

    static long panelBytes(QuantFormat format, int inFeatures) {
        return switch (format) {
            case F32 -> (long) inFeatures * Lanes.BYTES;
            case BF16 -> (inFeatures + 1L) / 2 * Lanes.BYTES;
            case W8A8, W4A8 -> throw notFloats(format);
        };
    }

    static PackedMatrix pack(MatrixView matrix, Arena arena) {
        QuantFormat format = matrix.format();
        long panel = panelBytes(format, matrix.columns());
        MemorySegment data = arena.allocate(Lanes.panels(matrix.rows()) * panel, 64);
        for (int row = 0; row < matrix.rows(); row++) {
            long to = row / Lanes.COUNT * panel;
            long from = matrix.offset() + row * matrix.rowStride();
            switch (format) {
                case F32 -> packFloats(matrix, from, data, to + row % Lanes.COUNT * 4L);
                case BF16 -> packPairs(matrix, from, data, to + row % Lanes.COUNT * 4L);
                case W8A8, W4A8 -> throw notFloats(format);
            }
        }
        return new PackedMatrix(format, matrix.rows(), matrix.columns(), NAME, data);
    }

    private static void packFloats(MatrixView matrix, long from, MemorySegment data, long to) {
        for (int k = 0; k < matrix.columns(); k++) {
            float value = matrix.data().get(FLOAT, (from + k * matrix.columnStride()) * Float.BYTES);
            data.set(FLOAT, to + (long) k * Lanes.BYTES, value);
        }
    }

    private static void packPairs(MatrixView matrix, long from, MemorySegment data, long to) {
        for (int k = 0; k < matrix.columns(); k++) {
            short bits = matrix.data().get(SHORT, (from + k * matrix.columnStride()) * Short.BYTES);
            data.set(SHORT, to + (long) (k / 2) * Lanes.BYTES + k % 2 * 2L, bits);
        }
    }

    /// The element of a packed matrix; slow, for checks.
    static float element(PackedMatrix matrix, int out, int in) {
        long at = out / Lanes.COUNT * panelBytes(matrix.format(), matrix.inFeatures()) + out % Lanes.COUNT * 4L;
        return switch (matrix.format()) {
            case F32 -> matrix.data().get(FLOAT, at + (long) in * Lanes.BYTES);
            case BF16 -> Bfloat16.widen(matrix.data().get(SHORT, at + (long) (in / 2) * Lanes.BYTES + in % 2 * 2L));
            case W8A8, W4A8 -> throw notFloats(matrix.format());
        };
    }

    private static IllegalStateException notFloats(QuantFormat format) {
        return new IllegalStateException("float panels of " + format);
    }
}
