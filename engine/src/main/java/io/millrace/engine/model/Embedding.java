package io.millrace.engine.model;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.millrace.kernels.MatrixView;
import io.millrace.kernels.QuantFormat;
import java.lang.foreign.MemorySegment;

/// The token embedding `[vocabSize, hiddenSize]`, kept in the checkpoint's number format and widened
/// row by row.
final class Embedding {
    private final QuantFormat format;
    private final MemorySegment data;
    private final int vocabSize;
    private final int width;

    private Embedding(QuantFormat format, MemorySegment data, int vocabSize, int width) {
        this.format = format;
        this.data = data;
        this.vocabSize = vocabSize;
        this.width = width;
    }

    /// Looks up in a row-major matrix whose memory is borrowed.
    static Embedding of(MatrixView matrix) {
        if (matrix.columnStride() != 1 || matrix.rowStride() != matrix.columns() || matrix.offset() != 0) {
            throw new IllegalArgumentException("embedding strides: " + matrix.rowStride() + ", " + matrix.columnStride()
                    + " (expected: " + matrix.columns() + ", 1)");
        }
        return new Embedding(matrix.format(), matrix.data(), matrix.rows(), matrix.columns());
    }

    /// Writes the embedding of a token as float32.
    ///
    /// @param token       0..vocabSize-1
    /// @param out         where the row goes
    /// @param byteOffset  first byte of the row in `out`
    void lookUp(int token, MemorySegment out, long byteOffset) {
        if (token < 0 || token >= vocabSize) {
            throw new IllegalArgumentException("token id: " + token + " (expected: 0.." + (vocabSize - 1) + ")");
        }
        long row = (long) token * width * format.elementBytes();
        switch (format) {
            case F32 ->
                MemorySegment.copy(data, JAVA_BYTE, row, out, JAVA_BYTE, byteOffset, (long) width * Float.BYTES);
            case BF16 -> {
                for (int i = 0; i < width; i++) {
                    int bits = data.get(JAVA_SHORT, row + (long) i * Short.BYTES) << 16;
                    out.set(JAVA_FLOAT, byteOffset + (long) i * Float.BYTES, Float.intBitsToFloat(bits));
                }
            }
            case W8A8, W4A8 -> throw new IllegalStateException("embedding in " + format);
        }
    }
}
