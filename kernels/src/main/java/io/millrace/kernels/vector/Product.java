package io.millrace.kernels.vector;

import io.millrace.kernels.IntegerPanels;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.ScaleAxis;

/// Operands of `y[r, o] = Σ_k x[r, k] * w[k, o]`: addresses and strides in bytes. The outputs are
/// computed in panels of one vector: panel `p` of row `k` of w lies at `w + p * wPanel + k * wStep`,
/// element `k` of row `r` of x at `x + r * xRow + k * xStep`. Whole panels are stored, so y has room
/// for `Lanes.padded(outputs)` floats a row.
///
/// In `BF16`, w is packed in pairs of `k`: one 32-bit lane holds two consecutive elements of an output.
/// Integer weights lie as [IntegerPanels] says, x are [RoundedRows] and [IntegerTiles] computes.
final class Product {
    /// Vectors of outputs in a panel of integer weights.
    private static final int PER_PANEL = IntegerPanels.OUTPUTS / Lanes.COUNT;

    QuantFormat format = QuantFormat.F32;
    int depth;
    int outputs;
    int rows;
    long w;
    long wStep;
    long wPanel;
    long x;
    long xRow;
    long xStep;
    long y;
    long yRow;

    /// Integer weights: inputs of a block, bytes from w to the scales of a W8A8 matrix, and whether outputs
    /// have scales.
    int block;

    long scales;
    boolean scaledOutputs;

    /// Integer weights: bytes from a row of x to its corrections and to its scale.
    long xCorrections;

    long xScale;

    /// Takes a packed matrix as w.
    void weights(PackedMatrix matrix) {
        format = matrix.format();
        depth = matrix.inFeatures();
        outputs = matrix.outFeatures();
        w = Lanes.address(matrix.data());
        switch (format) {
            case F32, BF16 -> {
                wStep = Lanes.BYTES;
                wPanel = VectorKernels.FLOATS.panelBytes(format, depth);
            }
            case W8A8 -> {
                wPanel = IntegerPanels.panelBytes(matrix);
                block = RoundedRows.BLOCK;
                scales = IntegerPanels.scaleOffset(matrix);
                scaledOutputs = matrix.scaleAxis() == ScaleAxis.OUTPUT;
            }
            case W4A8 -> {
                wPanel = IntegerPanels.panelBytes(matrix);
                block = matrix.group();
            }
        }
    }

    /// Takes rounded rows as x.
    void rows(RoundedRows rounded) {
        rows(rounded.address(), rounded.rowBytes(), rounded.rows());
        xCorrections = rounded.corrections();
        xScale = rounded.scale();
    }

    /// Takes rows of contiguous floats as x.
    void rows(long address, long rowBytes, int count) {
        x = address;
        xRow = rowBytes;
        xStep = Float.BYTES;
        rows = count;
    }

    /// Where the result goes.
    void into(long address, long rowBytes) {
        y = address;
        yRow = rowBytes;
    }

    int panels() {
        return Lanes.panels(outputs);
    }

    /// Blocks of inputs of integer weights.
    int blocks() {
        return Math.ceilDiv(depth, block);
    }

    /// Computes everything; floats only.
    void compute() {
        compute(0, rows, 0, panels());
    }

    /// Computes rows `[rowFrom, rowEnd)` of panels `[panelFrom, panelEnd)`; floats only.
    void compute(int rowFrom, int rowEnd, int panelFrom, int panelEnd) {
        switch (format) {
            case F32 -> {
                if (wStep == Lanes.BYTES && xStep == Float.BYTES) {
                    FloatTiles.compute(this, rowFrom, rowEnd, panelFrom, panelEnd);
                } else {
                    StridedTiles.compute(this, rowFrom, rowEnd, panelFrom, panelEnd);
                }
            }
            case BF16 -> Bfloat16Tiles.compute(this, rowFrom, rowEnd, panelFrom, panelEnd);
            case W8A8, W4A8 -> throw new IllegalStateException("float product of " + format);
        }
    }

    long panel(int panel, int panelEnd) {
        return Lanes.base(w + Math.min(panel, panelEnd - 1) * wPanel);
    }

    /// Where the codes of a panel of integer weights start; those of W4A8 groups [IntegerPanels#groupCodes] on.
    long codes(int panel, int panelEnd) {
        int p = Math.min(panel, panelEnd - 1);
        return Lanes.base(w + p / PER_PANEL * wPanel + p % PER_PANEL * (long) Lanes.BYTES);
    }

    /// Where the scales of a panel of integer weights start; those of W4A8 groups [IntegerPanels#groupScales] on.
    long scales(int panel, int panelEnd) {
        int p = Math.min(panel, panelEnd - 1);
        return Lanes.base(
                format == QuantFormat.W8A8
                        ? w + scales + p * (long) Lanes.BYTES
                        : w + p / PER_PANEL * wPanel + p % PER_PANEL * (Lanes.BYTES / 2L));
    }

    long row(int row, int rowEnd) {
        return Lanes.base(x + Math.min(row, rowEnd - 1) * xRow);
    }

    long out(int row, int rowEnd, int panel, int panelEnd) {
        return Lanes.base(y + Math.min(row, rowEnd - 1) * yRow + (long) Math.min(panel, panelEnd - 1) * Lanes.BYTES);
    }

    /// Bytes from the outputs of a panel to those of the next one.
    long next(int panel, int panelEnd) {
        return panel + 1 < panelEnd ? Lanes.BYTES : 0;
    }
}
