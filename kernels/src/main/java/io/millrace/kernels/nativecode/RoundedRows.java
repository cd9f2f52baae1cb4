package io.millrace.kernels.nativecode;

import io.millrace.kernels.IntegerPanels;
import io.millrace.kernels.PackedMatrix;

/// Rows rounded to int8, as `rounded_rows` in `calls.h` lays them out.
final class RoundedRows {
    private static final int STEP = 64;
    private static final int GROUP = 32;

    private final Buffer codes;
    private final Buffer scales;
    private final Buffer sums;
    private long stride;

    RoundedRows(Buffers buffers) {
        codes = buffers.buffer();
        scales = buffers.buffer();
        sums = buffers.buffer();
    }

    /// Inputs of the integer ones among some matrices that read the same rows, the padding included:
    /// what their rounded rows must be padded to. 0 if none is an integer one.
    static int inputs(PackedMatrix... matrices) {
        int most = 0;
        for (PackedMatrix matrix : matrices) {
            if (matrix.format().isInteger()) {
                most = Math.max(most, IntegerPanels.paddedInputs(matrix));
            }
        }
        return most;
    }

    /// Makes room for rows, zeros included.
    ///
    /// @param inputs  as [#inputs] counts them
    RoundedRows reserve(long rows, int inputs) {
        stride = Math.ceilDiv(inputs, STEP) * (long) STEP;
        codes.bytes(rows * stride);
        scales.floats(rows);
        sums.floats(rows * sumStep());
        return this;
    }

    private long sumStep() {
        return 1 + stride / GROUP;
    }

    /// Writes its structure.
    ///
    /// @param first  the row that is row 0 of the structure
    /// @param step   rows from one row of the structure to the next
    void put(CallBlock block, long first, long step) {
        block.put(codes.memory().address() + first * stride).put(stride * step);
        block.put(scales.memory().address() + first * Float.BYTES).put(step);
        block.put(sums.memory().address() + first * sumStep() * Integer.BYTES).put(sumStep() * step);
    }

    /// Writes the structure of all rows.
    void put(CallBlock block) {
        put(block, 0, 1);
    }

    /// Writes a structure that says: not rounded.
    static void putNone(CallBlock block) {
        for (int field = 0; field < 6; field++) {
            block.putNull();
        }
    }
}
