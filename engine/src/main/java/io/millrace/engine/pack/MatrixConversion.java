package io.millrace.engine.pack;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.kernels.Bfloat16;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.QuantizedMatrix;
import io.millrace.kernels.WeightQuantizer;
import io.millrace.kernels.WeightSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// Brings a matrix into the format that is wanted.
final class MatrixConversion {
    private static final int ALIGNMENT = 64;

    private MatrixConversion() {}

    /// The matrix in the format of `spec`, itself if it has that already.
    ///
    /// @throws IllegalStateException if its shape is not the asked one
    /// @throws MillraceException `INVALID_CHECKPOINT` if it holds integers of another format
    static WeightSource convert(MatrixSpec spec, WeightSource found, Arena arena) {
        if (found.rows() != spec.rows() || found.columns() != spec.columns()) {
            throw new IllegalStateException(spec.name() + ": shape [" + found.rows() + ", " + found.columns()
                    + "] (expected: [" + spec.rows() + ", " + spec.columns() + "])");
        }
        QuantFormat wanted = spec.format();
        if (wanted == null || wanted == found.format()) {
            return found;
        }
        return switch (found) {
            case MatrixView floats -> convert(spec, wanted, floats, arena);
            case QuantizedMatrix codes ->
                throw new MillraceException(
                        ErrorCode.INVALID_CHECKPOINT,
                        spec.name() + " is quantised to " + codes.format() + " (expected: " + wanted
                                + "; millrace.weights.profile=checkpoint takes it as it is)");
        };
    }

    private static WeightSource convert(MatrixSpec spec, QuantFormat wanted, MatrixView floats, Arena arena) {
        return switch (wanted) {
            case F32 -> widened(floats, arena);
            case BF16 -> rounded(floats, arena);
            case W8A8 -> WeightQuantizer.int8(floats, arena);
            case W4A8 -> WeightQuantizer.int4(floats, spec.int4Group(), arena);
        };
    }

    private static MatrixView widened(MatrixView matrix, Arena arena) {
        int columns = matrix.columns();
        MemorySegment wide = arena.allocate((long) matrix.rows() * columns * Float.BYTES, ALIGNMENT);
        float[] row = new float[columns];
        for (int r = 0; r < matrix.rows(); r++) {
            matrix.copyRow(r, row);
            MemorySegment.copy(row, 0, wide, JAVA_FLOAT, (long) r * columns * Float.BYTES, columns);
        }
        return MatrixView.rowMajor(QuantFormat.F32, wide, matrix.rows(), columns);
    }

    private static MatrixView rounded(MatrixView matrix, Arena arena) {
        int columns = matrix.columns();
        MemorySegment narrow = arena.allocate((long) matrix.rows() * columns * Short.BYTES, ALIGNMENT);
        float[] row = new float[columns];
        short[] bits = new short[columns];
        for (int r = 0; r < matrix.rows(); r++) {
            matrix.copyRow(r, row);
            for (int c = 0; c < columns; c++) {
                bits[c] = Bfloat16.round(row[c]);
            }
            MemorySegment.copy(bits, 0, narrow, JAVA_SHORT, (long) r * columns * Short.BYTES, columns);
        }
        return MatrixView.rowMajor(QuantFormat.BF16, narrow, matrix.rows(), columns);
    }
}
