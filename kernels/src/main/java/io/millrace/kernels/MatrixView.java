package io.millrace.kernels;

import java.lang.foreign.MemorySegment;

/// A strided view of an unpacked weight matrix `[rows, columns]`, as a checkpoint stores it (`y = x Wᵀ`: rows are
/// outputs). Offsets and strides count elements of `format`; little-endian. The memory is borrowed.
public record MatrixView(
        QuantFormat format, MemorySegment data, long offset, int rows, int columns, long rowStride, long columnStride) {

    public MatrixView {
        if (rows < 1 || columns < 1) {
            throw new IllegalArgumentException(
                    "matrix shape: [" + rows + ", " + columns + "] (expected: both at least 1)");
        }
        long last = offset + (rows - 1L) * rowStride + (columns - 1L) * columnStride;
        if (offset < 0 || rowStride < 0 || columnStride < 0 || (last + 1) * format.elementBytes() > data.byteSize()) {
            throw new IllegalArgumentException("matrix view ends at element " + last + " (expected: inside "
                    + data.byteSize() / format.elementBytes() + " elements)");
        }
    }

    /// A contiguous row-major matrix that starts at the first byte of `data`.
    public static MatrixView rowMajor(QuantFormat format, MemorySegment data, int rows, int columns) {
        return new MatrixView(format, data, 0, rows, columns, columns, 1);
    }

    /// Rows `[from, from + count)` of this matrix.
    public MatrixView rowRange(int from, int count) {
        return new MatrixView(format, data, offset + from * rowStride, count, columns, rowStride, columnStride);
    }

    /// The same elements with rows and columns exchanged.
    public MatrixView transposed() {
        return new MatrixView(format, data, offset, columns, rows, columnStride, rowStride);
    }
}
