package io.millrace.engine.quantize;

import io.millrace.kernels.Hadamard;
import org.jspecify.annotations.Nullable;

/// What is folded into a run of a matrix's columns: each row times `scale`, then the block rotation
/// `H`. The input of the folded matrix is `H(x / scale)`, so that the product stays.
final class ColumnFold {
    private final int from;
    private final int count;
    private final int block;
    private final float @Nullable [] scale;

    /// @param from   first column
    /// @param count  columns
    /// @param block  of the rotation, 1 for none
    /// @param scale  `[count]`, null for ones
    ColumnFold(int from, int count, int block, float @Nullable [] scale) {
        this.from = from;
        this.count = count;
        this.block = block;
        this.scale = scale;
    }

    /// Folds into a row of the matrix, in place.
    void foldRow(float[] row) {
        if (scale != null) {
            for (int i = 0; i < count; i++) {
                row[from + i] *= scale[i];
            }
        }
        Hadamard.rotate(row, from, count, block);
    }

    /// Makes an input of the folded matrix from one of the original, in place. An element whose scale
    /// is 0 becomes 0: no weight reads it.
    void foldInput(float[] x) {
        if (scale != null) {
            for (int i = 0; i < count; i++) {
                x[from + i] = scale[i] == 0 ? 0 : x[from + i] / scale[i];
            }
        }
        Hadamard.rotate(x, from, count, block);
    }
}
