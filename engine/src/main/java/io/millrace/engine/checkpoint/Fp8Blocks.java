package io.millrace.engine.checkpoint;

/// Blocks of an FP8 weight that share one float32 scale. The last block of a row or column may be smaller.
///
/// @param rows     rows of a block
/// @param columns  columns of a block
public record Fp8Blocks(int rows, int columns) {
    /// Rows of the scale matrix of a weight with so many rows.
    int scaleRows(long weightRows) {
        return Math.toIntExact(Math.ceilDiv(weightRows, rows));
    }

    /// Columns of the scale matrix of a weight with so many columns.
    int scaleColumns(long weightColumns) {
        return Math.toIntExact(Math.ceilDiv(weightColumns, columns));
    }
}
