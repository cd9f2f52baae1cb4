package io.millrace.kernels;

import java.lang.foreign.MemorySegment;

/// A quantised weight matrix `[rows, columns]` before packing: `w[r, c] = code[r, c] * scale`. The
/// memory is borrowed.
///
/// @param format        [QuantFormat#W8A8] (codes -127..127) or [QuantFormat#W4A8] (codes -8..7)
/// @param rows          outputs
/// @param columns       inputs; W8A8: at most [#MAX_INT8_INPUTS]
/// @param group         W4A8: inputs that share a scale, a multiple of 8; W8A8: `columns`
/// @param scaleAxis     W8A8: what a scale belongs to; W4A8: [ScaleAxis#OUTPUT]
/// @param codes         one signed byte per element; element `[r, c]` at `r * rowStride + c *
///                      columnStride`
/// @param rowStride     bytes from one row to the next
/// @param columnStride  bytes from one column to the next
/// @param scales        float32: W8A8 `[rows]` or, by inputs, `[columns]`; W4A8 `[rows, ceil(columns /
///                      group)]`, each exact in bfloat16
public record QuantizedMatrix(
        QuantFormat format,
        int rows,
        int columns,
        int group,
        ScaleAxis scaleAxis,
        MemorySegment codes,
        long rowStride,
        long columnStride,
        MemorySegment scales)
        implements WeightSource {
    /// Most inputs of a W8A8 matrix: the sum of their products, 127 * 127 each, fits 32 bits, and so does
    /// every part of it that providers keep, the offset of 128 on codes included.
    public static final int MAX_INT8_INPUTS = 1 << 17;

    private static final int GROUP_STEP = 8;

    public QuantizedMatrix {
        if (!format.isInteger()) {
            throw new IllegalArgumentException("quantised matrix of " + format + " (expected: W8A8 or W4A8)");
        }
        if (rows < 1 || columns < 1) {
            throw new IllegalArgumentException(
                    "matrix shape: [" + rows + ", " + columns + "] (expected: both at least 1)");
        }
        boolean grouped = format == QuantFormat.W4A8;
        if (!grouped && columns > MAX_INT8_INPUTS) {
            throw new IllegalArgumentException("int8 matrix of " + columns + " inputs (expected: at most "
                    + MAX_INT8_INPUTS + ", whose sums fit 32 bits)");
        }
        if (grouped ? group < GROUP_STEP || group % GROUP_STEP != 0 : group != columns) {
            throw new IllegalArgumentException("scale group: " + group + " inputs (expected: "
                    + (grouped ? "a multiple of " + GROUP_STEP : "all " + columns) + ")");
        }
        if (grouped && scaleAxis != ScaleAxis.OUTPUT) {
            throw new IllegalArgumentException("scales by input in groups (expected: by output)");
        }
        long last = (rows - 1L) * rowStride + (columns - 1L) * columnStride;
        if (rowStride < 0 || columnStride < 0 || last >= codes.byteSize()) {
            throw new IllegalArgumentException(
                    "matrix ends at byte " + last + " (expected: inside " + codes.byteSize() + " bytes)");
        }
        long wanted = scaleCount(rows, columns, group, scaleAxis);
        if (scales.byteSize() < wanted * Float.BYTES) {
            throw new IllegalArgumentException(
                    "scales: " + scales.byteSize() / Float.BYTES + " (expected: at least " + wanted + ")");
        }
    }

    private static long scaleCount(int rows, int columns, int group, ScaleAxis axis) {
        return axis == ScaleAxis.INPUT ? columns : (long) rows * Math.ceilDiv(columns, group);
    }

    /// Groups of a row.
    public int groups() {
        return Math.ceilDiv(columns, group);
    }

    /// Rows `[from, from + count)` of a matrix with scales by output.
    @Override
    public QuantizedMatrix rowRange(int from, int count) {
        if (scaleAxis != ScaleAxis.OUTPUT) {
            throw new IllegalArgumentException("row range of a matrix with scales by input (expected: by output)");
        }
        return new QuantizedMatrix(
                format,
                count,
                columns,
                group,
                scaleAxis,
                codes.asSlice(from * rowStride),
                rowStride,
                columnStride,
                scales.asSlice((long) from * groups() * Float.BYTES));
    }

    /// The same elements with rows and columns exchanged; W8A8 only. Its scales then belong to the
    /// other axis.
    @Override
    public QuantizedMatrix transposed() {
        ScaleAxis other = scaleAxis == ScaleAxis.OUTPUT ? ScaleAxis.INPUT : ScaleAxis.OUTPUT;
        return new QuantizedMatrix(format, columns, rows, rows, other, codes, columnStride, rowStride, scales);
    }
}
