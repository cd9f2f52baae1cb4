package io.millrace.kernels.vector;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;

/// Products with W8A8 weights, block by block ([RoundedRows#BLOCK]). A 32-bit lane holds four
/// consecutive inputs of an output. Sums of a block are exact in float32; y holds their total as int32
/// until [#finish] scales it.
///
/// The hot loops call the API's methods alone: those are inlined even where the compiler's budget for
/// others is spent ([Bfloat16Tiles]).
final class ByteTiles {
    /// Bytes from four inputs to the next four.
    static final long STEP = 64;

    private ByteTiles() {}

    /// Leaves the sums of a block of one row and two panels, still to be corrected, at `to`.
    static void oneRow(Product p, int row, int panel, int block, long to) {
        int from = block * p.block;
        int quads = (Math.min(p.block, p.depth - from) + 3) / 4;
        long x = Lanes.base(p.row(row, row + 1) + from * 4L);
        long w0 = Lanes.base(p.codes(panel, p.panels()) + from * (STEP / 4));
        long w1 = Lanes.base(p.codes(panel + 1, p.panels()) + from * (STEP / 4));
        long to0 = Lanes.base(to);
        FloatVector y0 = FloatVector.zero(Lanes.FLOATS);
        FloatVector y1 = y0;
        FloatVector z0 = y0;
        FloatVector z1 = y0;
        for (int q = 0; q < quads; q++) {
            long at = Lanes.offset(q, STEP);
            long k = x + Lanes.offset(q, 16);
            FloatVector x0 = FloatVector.broadcast(Lanes.FLOATS, Lanes.ALL.get(Lanes.FLOAT, k));
            FloatVector x1 = FloatVector.broadcast(Lanes.FLOATS, Lanes.ALL.get(Lanes.FLOAT, k + 4));
            FloatVector x2 = FloatVector.broadcast(Lanes.FLOATS, Lanes.ALL.get(Lanes.FLOAT, k + 8));
            FloatVector x3 = FloatVector.broadcast(Lanes.FLOATS, Lanes.ALL.get(Lanes.FLOAT, k + 12));
            IntVector w = IntVector.fromMemorySegment(Lanes.INTS, Lanes.ALL, w0 + at, Lanes.ORDER);
            y0 = ((FloatVector) w.and(0xff).convert(VectorOperators.I2F, 0)).fma(x0, y0);
            z0 = ((FloatVector) w.and(0xff00).convert(VectorOperators.I2F, 0)).fma(x1, z0);
            y0 = ((FloatVector) w.and(0xff0000).convert(VectorOperators.I2F, 0)).fma(x2, y0);
            z0 = ((FloatVector) w.lanewise(VectorOperators.LSHR, 24).convert(VectorOperators.I2F, 0)).fma(x3, z0);
            w = IntVector.fromMemorySegment(Lanes.INTS, Lanes.ALL, w1 + at, Lanes.ORDER);
            y1 = ((FloatVector) w.and(0xff).convert(VectorOperators.I2F, 0)).fma(x0, y1);
            z1 = ((FloatVector) w.and(0xff00).convert(VectorOperators.I2F, 0)).fma(x1, z1);
            y1 = ((FloatVector) w.and(0xff0000).convert(VectorOperators.I2F, 0)).fma(x2, y1);
            z1 = ((FloatVector) w.lanewise(VectorOperators.LSHR, 24).convert(VectorOperators.I2F, 0)).fma(x3, z1);
        }
        y0.add(z0).intoMemorySegment(Lanes.ALL, to0, Lanes.ORDER);
        y1.add(z1).intoMemorySegment(Lanes.ALL, to0 + Lanes.BYTES, Lanes.ORDER);
    }

    /// Widens a block of a panel to floats `[inputs][lanes]`, each still where it lies in its lane.
    static void widen(Product p, int panel, int block, long to) {
        int from = block * p.block;
        int quads = (Math.min(p.block, p.depth - from) + 3) / 4;
        long w0 = Lanes.base(p.codes(panel, panel + 1) + from * (STEP / 4));
        long to0 = Lanes.base(to);
        for (int q = 0; q < quads; q++) {
            long at = Lanes.offset(q, STEP);
            long y = to0 + Lanes.offset(q, 4L * Lanes.BYTES);
            IntVector w = IntVector.fromMemorySegment(Lanes.INTS, Lanes.ALL, w0 + at, Lanes.ORDER);
            ((FloatVector) w.and(0xff).convert(VectorOperators.I2F, 0)).intoMemorySegment(Lanes.ALL, y, Lanes.ORDER);
            ((FloatVector) w.and(0xff00).convert(VectorOperators.I2F, 0))
                    .intoMemorySegment(Lanes.ALL, y + Lanes.BYTES, Lanes.ORDER);
            ((FloatVector) w.and(0xff0000).convert(VectorOperators.I2F, 0))
                    .intoMemorySegment(Lanes.ALL, y + 2L * Lanes.BYTES, Lanes.ORDER);
            ((FloatVector) w.lanewise(VectorOperators.LSHR, 24).convert(VectorOperators.I2F, 0))
                    .intoMemorySegment(Lanes.ALL, y + 3L * Lanes.BYTES, Lanes.ORDER);
        }
    }

    /// Adds the sums of a block of some rows and a panel, still to be corrected, to those of the blocks
    /// before.
    ///
    /// @param row   the first row
    /// @param sums  where they are: one vector a row
    static void fold(Product p, int row, int panel, int block, Product sums) {
        boolean first = block == 0;
        long from = Lanes.base(sums.y);
        long to = p.out(row, row + 1, panel, panel + 1);
        long corrections = Lanes.base(p.row(row, row + 1) + p.xCorrections + block * 4L);
        for (int r = 0; r < sums.rows; r++) {
            long y = to + Lanes.offset(r, p.yRow);
            float correction = Lanes.ALL.get(Lanes.FLOAT, corrections + Lanes.offset(r, p.xRow));
            long at = from + Lanes.offset(r, sums.yRow);
            FloatVector sum = FloatVector.fromMemorySegment(Lanes.FLOATS, Lanes.ALL, at, Lanes.ORDER);
            IntVector total = (IntVector) sum.add(correction).convert(VectorOperators.F2I, 0);
            long before = first ? Lanes.NOTHING : y;
            total = total.add(IntVector.fromMemorySegment(Lanes.INTS, Lanes.ALL, before & Lanes.ACCESS, Lanes.ORDER));
            total.intoMemorySegment(Lanes.ALL, y, Lanes.ORDER);
        }
    }

    /// Scales the sums of a row: `y = sum * (scale of x * scale of W)`.
    static void finish(Product p, int row, int panelFrom, int panelEnd) {
        float scale = Lanes.get(p.row(row, row + 1) + p.xScale);
        for (int panel = panelFrom; panel < panelEnd; panel++) {
            long y = p.out(row, row + 1, panel, panelEnd);
            FloatVector sum = (FloatVector) Lanes.loadInts(y).convert(VectorOperators.I2F, 0);
            FloatVector factor = Lanes.broadcast(scale);
            if (p.scaledOutputs) {
                factor = factor.mul(Lanes.load(p.scales(panel, panelEnd)));
            }
            Lanes.store(sum.mul(factor), y);
        }
    }
}
