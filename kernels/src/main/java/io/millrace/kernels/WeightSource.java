package io.millrace.kernels;

/// A weight matrix `[rows, columns]` that is not packed yet (`y = x Wᵀ`: rows are outputs).
public sealed interface WeightSource permits MatrixView, QuantizedMatrix {
    /// Format the packed matrix will have.
    QuantFormat format();

    /// Outputs.
    int rows();

    /// Inputs.
    int columns();

    /// Rows `[from, from + count)`.
    WeightSource rowRange(int from, int count);

    /// The same elements with rows and columns exchanged.
    WeightSource transposed();
}
