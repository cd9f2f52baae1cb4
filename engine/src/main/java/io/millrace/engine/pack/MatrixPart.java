package io.millrace.engine.pack;

/// A part of a weight matrix that is packed on its own.
///
/// @param fromRow     first row
/// @param rows        how many
/// @param transposed  whether rows and columns are exchanged before packing
public record MatrixPart(int fromRow, int rows, boolean transposed) {
    public MatrixPart {
        if (fromRow < 0 || rows < 1) {
            throw new IllegalArgumentException(
                    "part of a matrix: " + rows + " rows from " + fromRow + " (expected: at least one from 0 on)");
        }
    }

    /// The whole matrix as it is.
    static MatrixPart whole(MatrixSpec spec) {
        return new MatrixPart(0, spec.rows(), false);
    }

    boolean isWhole(MatrixSpec spec) {
        return fromRow == 0 && rows == spec.rows() && !transposed;
    }

    /// Name of the packed part, e.g. `kv_b_proj.weight[64+32]` or, transposed,
    /// `kv_b_proj.weight[64+32]T`.
    String entryName(MatrixSpec spec) {
        return isWhole(spec) ? spec.name() : spec.name() + "[" + fromRow + "+" + rows + "]" + (transposed ? "T" : "");
    }

    /// Outputs of the packed part.
    int outFeatures(MatrixSpec spec) {
        return transposed ? spec.columns() : rows;
    }

    /// Inputs of the packed part.
    int inFeatures(MatrixSpec spec) {
        return transposed ? rows : spec.columns();
    }
}
