package io.millrace.kernels;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;

/// A strided view of an unpacked weight matrix `[rows, columns]`, as a checkpoint stores it (`y = x
/// Wᵀ`: rows are outputs). Offsets and strides count elements of `format`; little-endian. The memory is
/// borrowed.
public record MatrixView(
        QuantFormat format, MemorySegment data, long offset, int rows, int columns, long rowStride, long columnStride)
        implements WeightSource {

    public MatrixView {
        if (format.isInteger()) {
            throw new IllegalArgumentException("matrix view of " + format + " (expected: F32 or BF16)");
        }
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
    @Override
    public MatrixView rowRange(int from, int count) {
        return new MatrixView(format, data, offset + from * rowStride, count, columns, rowStride, columnStride);
    }

    /// The same elements with rows and columns exchanged.
    @Override
    public MatrixView transposed() {
        return new MatrixView(format, data, offset, columns, rows, columnStride, rowStride);
    }

    /// Copies a row as floats.
    ///
    /// @param target  at least `columns` long
    public void copyRow(int row, float[] target) {
        long at = offset + row * rowStride;
        switch (format) {
            case F32 -> {
                for (int c = 0; c < columns; c++) {
                    target[c] = data.get(JAVA_FLOAT_UNALIGNED, (at + c * columnStride) * Float.BYTES);
                }
            }
            case BF16 -> {
                for (int c = 0; c < columns; c++) {
                    target[c] = Bfloat16.widen(data.get(JAVA_SHORT_UNALIGNED, (at + c * columnStride) * Short.BYTES));
                }
            }
            case W8A8, W4A8 -> throw new IllegalStateException("matrix view of " + format);
        }
    }
}
