package io.millrace.kernels.vector;

import io.millrace.kernels.IntegerPanels;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorOperators;

/// Products with W4A8 weights. A 32-bit lane holds eight consecutive inputs of an output. The sum of a
/// group is exact in float32; then `acc = fma(sum, scale of the group, acc)`. The rules of [ByteTiles]
/// apply.
final class NibbleTiles {
    private static final int OCTET = 8;

    private NibbleTiles() {}

    /// One row and one panel. Two panels, or accesses by other methods than the API's, would be boxed.
    static void oneRow(Product p, int row, int panel) {
        long x = p.row(row, row + 1);
        long codes = p.codes(panel, panel + 1);
        long to = p.out(row, row + 1, panel, panel + 1);
        long scales = p.scales(panel, panel + 1);
        long corrections = Lanes.base(x + p.xCorrections);
        FloatVector y = FloatVector.zero(Lanes.FLOATS);
        int octets = p.block / OCTET;
        int groups = p.blocks();
        for (int g = 0; g < groups; g++) {
            long group = Lanes.base(codes + IntegerPanels.groupCodes(g, p.block));
            float correction = Lanes.ALL.get(Lanes.FLOAT, corrections + Lanes.offset(g, 4));
            FloatVector sum = FloatVector.broadcast(Lanes.FLOATS, correction);
            FloatVector more = FloatVector.zero(Lanes.FLOATS);
            for (int o = 0; o < octets; o++) {
                long k = x + Lanes.offset(g * octets + o, 32);
                long at = group + Lanes.offset(o, ByteTiles.STEP);
                IntVector w = IntVector.fromMemorySegment(Lanes.INTS, Lanes.ALL, at, Lanes.ORDER);
                FloatVector v = FloatVector.broadcast(Lanes.FLOATS, Lanes.ALL.get(Lanes.FLOAT, k));
                sum = ((FloatVector) w.and(0xf).convert(VectorOperators.I2F, 0)).fma(v, sum);
                v = FloatVector.broadcast(Lanes.FLOATS, Lanes.ALL.get(Lanes.FLOAT, k + 16));
                more = ((FloatVector) w.and(0xf0).convert(VectorOperators.I2F, 0)).fma(v, more);
                v = FloatVector.broadcast(Lanes.FLOATS, Lanes.ALL.get(Lanes.FLOAT, k + 4));
                sum = ((FloatVector) w.and(0xf00).convert(VectorOperators.I2F, 0)).fma(v, sum);
                v = FloatVector.broadcast(Lanes.FLOATS, Lanes.ALL.get(Lanes.FLOAT, k + 20));
                more = ((FloatVector) w.and(0xf000).convert(VectorOperators.I2F, 0)).fma(v, more);
                v = FloatVector.broadcast(Lanes.FLOATS, Lanes.ALL.get(Lanes.FLOAT, k + 8));
                sum = ((FloatVector) w.and(0xf0000).convert(VectorOperators.I2F, 0)).fma(v, sum);
                v = FloatVector.broadcast(Lanes.FLOATS, Lanes.ALL.get(Lanes.FLOAT, k + 24));
                more = ((FloatVector) w.and(0xf00000).convert(VectorOperators.I2F, 0)).fma(v, more);
                v = FloatVector.broadcast(Lanes.FLOATS, Lanes.ALL.get(Lanes.FLOAT, k + 12));
                sum = ((FloatVector) w.and(0xf000000).convert(VectorOperators.I2F, 0)).fma(v, sum);
                v = FloatVector.broadcast(Lanes.FLOATS, Lanes.ALL.get(Lanes.FLOAT, k + 28));
                more = ((FloatVector) w.lanewise(VectorOperators.LSHR, 28).convert(VectorOperators.I2F, 0))
                        .fma(v, more);
            }
            long s = Lanes.base(scales + IntegerPanels.groupScales(g, p.block));
            IntVector bits = (IntVector) ShortVector.fromMemorySegment(Lanes.SHORTS, Lanes.ALL, s, Lanes.ORDER)
                    .convertShape(VectorOperators.ZERO_EXTEND_S2I, Lanes.INTS, 0);
            FloatVector scale = bits.lanewise(VectorOperators.LSHL, 16).reinterpretAsFloats();
            y = sum.add(more).fma(scale, y);
        }
        float scale = Lanes.ALL.get(Lanes.FLOAT, x + p.xScale);
        y.mul(scale).intoMemorySegment(Lanes.ALL, to, Lanes.ORDER);
    }

    /// Widens a group of a panel to floats `[inputs][lanes]`, each still where it lies in its lane.
    static void widen(Product p, int panel, int group, long to) {
        int octets = p.block / OCTET;
        long w0 = Lanes.base(p.codes(panel, panel + 1) + IntegerPanels.groupCodes(group, p.block));
        long to0 = Lanes.base(to);
        for (int o = 0; o < octets; o++) {
            long y = to0 + Lanes.offset(o, 8L * Lanes.BYTES);
            IntVector w = IntVector.fromMemorySegment(
                    Lanes.INTS, Lanes.ALL, w0 + Lanes.offset(o, ByteTiles.STEP), Lanes.ORDER);
            ((FloatVector) w.and(0xf).convert(VectorOperators.I2F, 0)).intoMemorySegment(Lanes.ALL, y, Lanes.ORDER);
            ((FloatVector) w.and(0xf00).convert(VectorOperators.I2F, 0))
                    .intoMemorySegment(Lanes.ALL, y + Lanes.BYTES, Lanes.ORDER);
            ((FloatVector) w.and(0xf0000).convert(VectorOperators.I2F, 0))
                    .intoMemorySegment(Lanes.ALL, y + 2L * Lanes.BYTES, Lanes.ORDER);
            ((FloatVector) w.and(0xf000000).convert(VectorOperators.I2F, 0))
                    .intoMemorySegment(Lanes.ALL, y + 3L * Lanes.BYTES, Lanes.ORDER);
            ((FloatVector) w.and(0xf0).convert(VectorOperators.I2F, 0))
                    .intoMemorySegment(Lanes.ALL, y + 4L * Lanes.BYTES, Lanes.ORDER);
            ((FloatVector) w.and(0xf000).convert(VectorOperators.I2F, 0))
                    .intoMemorySegment(Lanes.ALL, y + 5L * Lanes.BYTES, Lanes.ORDER);
            ((FloatVector) w.and(0xf00000).convert(VectorOperators.I2F, 0))
                    .intoMemorySegment(Lanes.ALL, y + 6L * Lanes.BYTES, Lanes.ORDER);
            ((FloatVector) w.lanewise(VectorOperators.LSHR, 28).convert(VectorOperators.I2F, 0))
                    .intoMemorySegment(Lanes.ALL, y + 7L * Lanes.BYTES, Lanes.ORDER);
        }
    }

    /// Adds the sums of a group of some rows and a panel, still to be corrected, times its scales.
    ///
    /// @param row   the first row
    /// @param sums  where they are: one vector a row
    static void fold(Product p, int row, int panel, int group, Product sums) {
        boolean first = group == 0;
        long from = Lanes.base(sums.y);
        long to = p.out(row, row + 1, panel, panel + 1);
        long corrections = Lanes.base(p.row(row, row + 1) + p.xCorrections + group * 4L);
        FloatVector scale = Lanes.loadBfloat16(p.scales(panel, panel + 1) + IntegerPanels.groupScales(group, p.block));
        for (int r = 0; r < sums.rows; r++) {
            long y = to + Lanes.offset(r, p.yRow);
            float correction = Lanes.ALL.get(Lanes.FLOAT, corrections + Lanes.offset(r, p.xRow));
            long at = from + Lanes.offset(r, sums.yRow);
            FloatVector sum = FloatVector.fromMemorySegment(Lanes.FLOATS, Lanes.ALL, at, Lanes.ORDER);
            long before = first ? Lanes.NOTHING : y;
            FloatVector acc =
                    FloatVector.fromMemorySegment(Lanes.FLOATS, Lanes.ALL, before & Lanes.ACCESS, Lanes.ORDER);
            sum.add(correction).fma(scale, acc).intoMemorySegment(Lanes.ALL, y, Lanes.ORDER);
        }
    }

    /// `y = acc * scale of x`.
    static void finish(Product p, int row, int panelFrom, int panelEnd) {
        float scale = Lanes.get(p.row(row, row + 1) + p.xScale);
        for (int panel = panelFrom; panel < panelEnd; panel++) {
            long y = p.out(row, row + 1, panel, panelEnd);
            Lanes.store(Lanes.load(y).mul(scale), y);
        }
    }
}
