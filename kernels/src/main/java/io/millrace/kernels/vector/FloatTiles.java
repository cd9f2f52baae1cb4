package io.millrace.kernels.vector;

import jdk.incubator.vector.FloatVector;

/// Register tiles of a product with packed float32 weights and contiguous rows: 1 row by 4 panels, 4 rows by
/// 2 panels and, where there is one panel only, 8 rows by it. The rules of
/// [Bfloat16Tiles] apply.
final class FloatTiles {
    private FloatTiles() {}

    static void compute(Product p, int rowFrom, int rowEnd, int panelFrom, int panelEnd) {
        for (int panel = panelFrom; panel < panelEnd; panel += 4) {
            int row = rowFrom;
            for (; rowEnd - row >= 2; row += 4) {
                if (panel + 1 == panelEnd && rowEnd - row > 4) {
                    eightRows(p, row, rowEnd, panel);
                    row += 4;
                    continue;
                }
                fourRows(p, row, rowEnd, panel, panelEnd);
                if (panel + 2 < panelEnd) {
                    fourRows(p, row, rowEnd, panel + 2, panelEnd);
                }
            }
            if (rowEnd - row == 1) {
                oneRow(p, row, panel, panelEnd);
            }
        }
    }

    private static void oneRow(Product p, int row, int panel, int panelEnd) {
        long x = p.row(row, row + 1);
        long w0 = p.panel(panel, panelEnd);
        long w1 = p.panel(panel + 1, panelEnd);
        long w2 = p.panel(panel + 2, panelEnd);
        long w3 = p.panel(panel + 3, panelEnd);
        long to0 = p.out(row, row + 1, panel, panelEnd);
        long to1 = p.out(row, row + 1, panel + 1, panelEnd);
        long to2 = p.out(row, row + 1, panel + 2, panelEnd);
        long to3 = p.out(row, row + 1, panel + 3, panelEnd);
        FloatVector y0 = Lanes.zero();
        FloatVector y1 = Lanes.zero();
        FloatVector y2 = Lanes.zero();
        FloatVector y3 = Lanes.zero();
        int depth = p.depth;
        for (int k = 0; k < depth; k++) {
            long at = Lanes.offset(k, Lanes.BYTES);
            FloatVector v = Lanes.broadcast(x + Lanes.offset(k, 4));
            y0 = Lanes.load(w0 + at).fma(v, y0);
            y1 = Lanes.load(w1 + at).fma(v, y1);
            y2 = Lanes.load(w2 + at).fma(v, y2);
            y3 = Lanes.load(w3 + at).fma(v, y3);
        }
        y0.intoMemorySegment(Lanes.ALL, to0, Lanes.ORDER);
        y1.intoMemorySegment(Lanes.ALL, to1, Lanes.ORDER);
        y2.intoMemorySegment(Lanes.ALL, to2, Lanes.ORDER);
        y3.intoMemorySegment(Lanes.ALL, to3, Lanes.ORDER);
    }

    private static void fourRows(Product p, int row, int rowEnd, int panel, int panelEnd) {
        long x0 = p.row(row, rowEnd);
        long x1 = p.row(row + 1, rowEnd);
        long x2 = p.row(row + 2, rowEnd);
        long x3 = p.row(row + 3, rowEnd);
        long w0 = p.panel(panel, panelEnd);
        long w1 = p.panel(panel + 1, panelEnd);
        long to0 = p.out(row, rowEnd, panel, panelEnd);
        long to1 = p.out(row + 1, rowEnd, panel, panelEnd);
        long to2 = p.out(row + 2, rowEnd, panel, panelEnd);
        long to3 = p.out(row + 3, rowEnd, panel, panelEnd);
        long next = p.next(panel, panelEnd);
        FloatVector y00 = Lanes.zero();
        FloatVector y01 = Lanes.zero();
        FloatVector y10 = Lanes.zero();
        FloatVector y11 = Lanes.zero();
        FloatVector y20 = Lanes.zero();
        FloatVector y21 = Lanes.zero();
        FloatVector y30 = Lanes.zero();
        FloatVector y31 = Lanes.zero();
        int depth = p.depth;
        for (int k = 0; k < depth; k++) {
            long from = Lanes.offset(k, 4);
            long at = Lanes.offset(k, Lanes.BYTES);
            FloatVector v0 = Lanes.load(w0 + at);
            FloatVector v1 = Lanes.load(w1 + at);
            FloatVector x = Lanes.broadcast(x0 + from);
            y00 = v0.fma(x, y00);
            y01 = v1.fma(x, y01);
            x = Lanes.broadcast(x1 + from);
            y10 = v0.fma(x, y10);
            y11 = v1.fma(x, y11);
            x = Lanes.broadcast(x2 + from);
            y20 = v0.fma(x, y20);
            y21 = v1.fma(x, y21);
            x = Lanes.broadcast(x3 + from);
            y30 = v0.fma(x, y30);
            y31 = v1.fma(x, y31);
        }
        y00.intoMemorySegment(Lanes.ALL, to0, Lanes.ORDER);
        y01.intoMemorySegment(Lanes.ALL, to0 + next, Lanes.ORDER);
        y10.intoMemorySegment(Lanes.ALL, to1, Lanes.ORDER);
        y11.intoMemorySegment(Lanes.ALL, to1 + next, Lanes.ORDER);
        y20.intoMemorySegment(Lanes.ALL, to2, Lanes.ORDER);
        y21.intoMemorySegment(Lanes.ALL, to2 + next, Lanes.ORDER);
        y30.intoMemorySegment(Lanes.ALL, to3, Lanes.ORDER);
        y31.intoMemorySegment(Lanes.ALL, to3 + next, Lanes.ORDER);
    }

    private static void eightRows(Product p, int row, int rowEnd, int panel) {
        long x0 = p.row(row, rowEnd);
        long x1 = p.row(row + 1, rowEnd);
        long x2 = p.row(row + 2, rowEnd);
        long x3 = p.row(row + 3, rowEnd);
        long x4 = p.row(row + 4, rowEnd);
        long x5 = p.row(row + 5, rowEnd);
        long x6 = p.row(row + 6, rowEnd);
        long x7 = p.row(row + 7, rowEnd);
        long w = p.panel(panel, panel + 1);
        long to0 = p.out(row, rowEnd, panel, panel + 1);
        long to1 = p.out(row + 1, rowEnd, panel, panel + 1);
        long to2 = p.out(row + 2, rowEnd, panel, panel + 1);
        long to3 = p.out(row + 3, rowEnd, panel, panel + 1);
        long to4 = p.out(row + 4, rowEnd, panel, panel + 1);
        long to5 = p.out(row + 5, rowEnd, panel, panel + 1);
        long to6 = p.out(row + 6, rowEnd, panel, panel + 1);
        long to7 = p.out(row + 7, rowEnd, panel, panel + 1);
        FloatVector y0 = Lanes.zero();
        FloatVector y1 = Lanes.zero();
        FloatVector y2 = Lanes.zero();
        FloatVector y3 = Lanes.zero();
        FloatVector y4 = Lanes.zero();
        FloatVector y5 = Lanes.zero();
        FloatVector y6 = Lanes.zero();
        FloatVector y7 = Lanes.zero();
        int depth = p.depth;
        for (int k = 0; k < depth; k++) {
            long from = Lanes.offset(k, 4);
            FloatVector v = Lanes.load(w + Lanes.offset(k, Lanes.BYTES));
            y0 = v.fma(Lanes.broadcast(x0 + from), y0);
            y1 = v.fma(Lanes.broadcast(x1 + from), y1);
            y2 = v.fma(Lanes.broadcast(x2 + from), y2);
            y3 = v.fma(Lanes.broadcast(x3 + from), y3);
            y4 = v.fma(Lanes.broadcast(x4 + from), y4);
            y5 = v.fma(Lanes.broadcast(x5 + from), y5);
            y6 = v.fma(Lanes.broadcast(x6 + from), y6);
            y7 = v.fma(Lanes.broadcast(x7 + from), y7);
        }
        y0.intoMemorySegment(Lanes.ALL, to0, Lanes.ORDER);
        y1.intoMemorySegment(Lanes.ALL, to1, Lanes.ORDER);
        y2.intoMemorySegment(Lanes.ALL, to2, Lanes.ORDER);
        y3.intoMemorySegment(Lanes.ALL, to3, Lanes.ORDER);
        y4.intoMemorySegment(Lanes.ALL, to4, Lanes.ORDER);
        y5.intoMemorySegment(Lanes.ALL, to5, Lanes.ORDER);
        y6.intoMemorySegment(Lanes.ALL, to6, Lanes.ORDER);
        y7.intoMemorySegment(Lanes.ALL, to7, Lanes.ORDER);
    }
}
