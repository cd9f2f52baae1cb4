package io.millrace.engine.quantize;

import io.millrace.kernels.MatrixView;
import java.util.List;

/// Everything that is folded into one weight matrix.
///
/// @param columns  into its inputs
/// @param rows     into its outputs
record MatrixFold(List<ColumnFold> columns, List<RowFold> rows) {
    /// Nothing.
    static final MatrixFold NONE = new MatrixFold(List.of(), List.of());

    static MatrixFold ofColumns(ColumnFold... folds) {
        return new MatrixFold(List.of(folds), List.of());
    }

    /// The folded matrix. Its rows are computed as they are asked for, unless they are rotated among each
    /// other.
    FloatRows apply(MatrixView matrix) {
        FloatRows byRow = new FoldedRows(matrix, this);
        if (rows.stream().allMatch(RowFold::isDiagonal)) {
            return byRow;
        }
        float[][] all = new float[matrix.rows()][matrix.columns()];
        for (int row = 0; row < all.length; row++) {
            byRow.copyRow(row, all[row]);
        }
        rows.forEach(fold -> fold.rotate(all));
        return new HeldRows(all);
    }

    /// Makes an input of the folded matrix from one of the original, in place.
    void foldInput(float[] x) {
        for (ColumnFold fold : columns) {
            fold.foldInput(x);
        }
    }

    private record FoldedRows(MatrixView matrix, MatrixFold fold) implements FloatRows {
        @Override
        public int rows() {
            return matrix.rows();
        }

        @Override
        public int columns() {
            return matrix.columns();
        }

        @Override
        public void copyRow(int row, float[] target) {
            matrix.copyRow(row, target);
            for (ColumnFold column : fold.columns) {
                column.foldRow(target);
            }
            float factor = 1;
            for (RowFold run : fold.rows) {
                factor *= run.factor(row);
            }
            for (int i = 0; factor != 1 && i < target.length; i++) {
                target[i] *= factor;
            }
        }
    }

    private static final class HeldRows implements FloatRows {
        private final float[][] all;

        HeldRows(float[][] all) {
            this.all = all;
        }

        @Override
        public int rows() {
            return all.length;
        }

        @Override
        public int columns() {
            return all[0].length;
        }

        @Override
        public void copyRow(int row, float[] target) {
            System.arraycopy(all[row], 0, target, 0, target.length);
        }
    }
}
