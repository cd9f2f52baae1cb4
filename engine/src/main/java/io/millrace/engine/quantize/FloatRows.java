package io.millrace.engine.quantize;

/// A matrix of floats that yields its rows one by one.
interface FloatRows {
    int rows();

    int columns();

    /// @param target  `[columns]`
    void copyRow(int row, float[] target);
}
