package io.millrace.kernels.vector;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;

/// Register tiles of a product with BF16 weights: 1 row by 4 panels and 4 rows by 2 panels. From the second tile of
/// rows on weights come from the cache; two panels to a tile need a load for every 1.6 multiply-adds. Each output is
/// one chain of fused multiply-adds over ascending inputs, so the tile that computes it does not show in the result.
///
/// Tiles stay small on purpose: with more than about twenty vector operations in a loop body the compiler runs out of
/// its inlining budget and boxes every vector. So results, too, are stored by the API's own method, which is
/// inlined beyond the budget, at addresses computed before the loop. Rows and panels beyond the end repeat the
/// last one.
final class Bfloat16Tiles {
    private Bfloat16Tiles() {}

    static void compute(Product p, int rowFrom, int rowEnd, int panelFrom, int panelEnd) {
        for (int panel = panelFrom; panel < panelEnd; panel += 4) {
            int row = rowFrom;
            for (; rowEnd - row >= 2; row += 4) {
                fourRows(p, row, rowEnd, panel, panelEnd);
                if (panel + 2 < panelEnd) {
                    fourRows(p, row, rowEnd, panel + 2, panelEnd);
                }
            }
            if (rowEnd - row == 1) {
                oneRow(p, row, panel, panelEnd);
            }
        }
        if (p.depth % 2 != 0) {
            for (int row = rowFrom; row < rowEnd; row++) {
                lastInput(p, row, panelFrom, panelEnd);
            }
        }
    }

    /// Continues every chain by the last input of an odd number.
    private static void lastInput(Product p, int row, int panelFrom, int panelEnd) {
        int pairs = p.depth / 2;
        FloatVector even = Lanes.broadcast(p.row(row, row + 1) + pairs * 8L);
        for (int panel = panelFrom; panel < panelEnd; panel++) {
            long y = p.out(row, row + 1, panel, panelEnd);
            IntVector w = Lanes.loadInts(p.panel(panel, panelEnd) + (long) pairs * Lanes.BYTES);
            Lanes.store(Lanes.low(w).fma(even, Lanes.load(y)), y);
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
        int pairs = p.depth / 2;
        for (int k = 0; k < pairs; k++) {
            long at = Lanes.offset(k, Lanes.BYTES);
            long from = Lanes.offset(k, 8);
            FloatVector even = Lanes.broadcast(x + from);
            FloatVector odd = Lanes.broadcast(x + from + 4);
            IntVector w = Lanes.loadInts(w0 + at);
            y0 = Lanes.low(w).fma(even, y0);
            y0 = Lanes.high(w).fma(odd, y0);
            w = Lanes.loadInts(w1 + at);
            y1 = Lanes.low(w).fma(even, y1);
            y1 = Lanes.high(w).fma(odd, y1);
            w = Lanes.loadInts(w2 + at);
            y2 = Lanes.low(w).fma(even, y2);
            y2 = Lanes.high(w).fma(odd, y2);
            w = Lanes.loadInts(w3 + at);
            y3 = Lanes.low(w).fma(even, y3);
            y3 = Lanes.high(w).fma(odd, y3);
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
        int pairs = p.depth / 2;
        for (int k = 0; k < pairs; k++) {
            long at = Lanes.offset(k, Lanes.BYTES);
            long from = Lanes.offset(k, 8);
            IntVector pair0 = Lanes.loadInts(w0 + at);
            IntVector pair1 = Lanes.loadInts(w1 + at);
            FloatVector v0 = Lanes.low(pair0);
            FloatVector v1 = Lanes.low(pair1);
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
            v0 = Lanes.high(pair0);
            v1 = Lanes.high(pair1);
            x = Lanes.broadcast(x0 + from + 4);
            y00 = v0.fma(x, y00);
            y01 = v1.fma(x, y01);
            x = Lanes.broadcast(x1 + from + 4);
            y10 = v0.fma(x, y10);
            y11 = v1.fma(x, y11);
            x = Lanes.broadcast(x2 + from + 4);
            y20 = v0.fma(x, y20);
            y21 = v1.fma(x, y21);
            x = Lanes.broadcast(x3 + from + 4);
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
}
