package io.millrace.kernels.vector;

import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.QuantFormat;

/// Products with integer weights, with the scratch of one thread. A single row is multiplied as the
/// weights stream by; for more rows a block of two panels is widened to floats once and [FloatTiles]
/// runs over it. Sums are exact either way, so the path does not show in the result.
final class IntegerTiles {
    /// Rows that share a widened block.
    private static final int ROWS = 64;

    private static final int PANELS = 2;

    private final Scratch.Buffer buffer;
    private final Product part = new Product();

    IntegerTiles(Scratch scratch) {
        buffer = scratch.buffer();
        part.wStep = Lanes.BYTES;
    }

    private static long floats(int block) {
        return (long) PANELS * Lanes.COUNT * (block + ROWS);
    }

    /// Makes room for products with a matrix.
    void reserve(PackedMatrix w) {
        if (w.format().isInteger()) {
            buffer.reserve(floats(w.format() == QuantFormat.W4A8 ? w.group() : RoundedRows.BLOCK));
        }
    }

    /// Computes rows `[rowFrom, rowEnd)` of panels `[panelFrom, panelEnd)`; floats, too.
    void compute(Product p, int rowFrom, int rowEnd, int panelFrom, int panelEnd) {
        if (!p.format.isInteger()) {
            p.compute(rowFrom, rowEnd, panelFrom, panelEnd);
            return;
        }
        for (int row = rowFrom; row < rowEnd; row += ROWS) {
            int end = Math.min(row + ROWS, rowEnd);
            if (end - row == 1) {
                oneRow(p, row, panelFrom, panelEnd);
            } else {
                rows(p, row, end, panelFrom, panelEnd);
            }
        }
    }

    private void oneRow(Product p, int row, int panelFrom, int panelEnd) {
        if (p.format == QuantFormat.W4A8) {
            for (int panel = panelFrom; panel < panelEnd; panel++) {
                NibbleTiles.oneRow(p, row, panel);
            }
            return;
        }
        long sums = buffer.floats(floats(p.block));
        part.rows(p.x, p.xRow, 1);
        for (int panel = panelFrom; panel < panelEnd; panel += PANELS) {
            int end = Math.min(panel + PANELS, panelEnd);
            for (int block = 0; block < p.blocks(); block++) {
                ByteTiles.oneRow(p, row, panel, block, sums);
                for (int each = panel; each < end; each++) {
                    part.into(sums + (each - panel) * (long) Lanes.BYTES, PANELS * (long) Lanes.BYTES);
                    ByteTiles.fold(p, row, each, block, part);
                }
            }
        }
        ByteTiles.finish(p, row, panelFrom, panelEnd);
    }

    private void rows(Product p, int rowFrom, int rowEnd, int panelFrom, int panelEnd) {
        for (int panel = panelFrom; panel < panelEnd; panel += PANELS) {
            pair(p, rowFrom, rowEnd, panel, Math.min(panel + PANELS, panelEnd));
        }
        for (int row = rowFrom; row < rowEnd; row++) {
            switch (p.format) {
                case W8A8 -> ByteTiles.finish(p, row, panelFrom, panelEnd);
                case W4A8 -> NibbleTiles.finish(p, row, panelFrom, panelEnd);
                case F32, BF16 -> throw new IllegalStateException("integer product of " + p.format);
            }
        }
    }

    private void pair(Product p, int rowFrom, int rowEnd, int panelFrom, int panelEnd) {
        boolean bytes = p.format == QuantFormat.W8A8;
        part.w = buffer.floats(floats(p.block));
        part.wPanel = (long) p.block * Lanes.BYTES;
        part.outputs = (panelEnd - panelFrom) * Lanes.COUNT;
        long sums = part.w + PANELS * part.wPanel;
        long step = PANELS * (long) Lanes.BYTES;
        for (int block = 0; block < p.blocks(); block++) {
            for (int panel = panelFrom; panel < panelEnd; panel++) {
                long to = part.w + (panel - panelFrom) * part.wPanel;
                if (bytes) {
                    ByteTiles.widen(p, panel, block, to);
                } else {
                    NibbleTiles.widen(p, panel, block, to);
                }
            }
            int from = block * p.block;
            part.depth = bytes ? Math.ceilDiv(Math.min(p.block, p.depth - from), 4) * 4 : p.block;
            part.rows(p.x + rowFrom * p.xRow + from * 4L, p.xRow, rowEnd - rowFrom);
            part.into(sums, step);
            part.compute();
            for (int panel = panelFrom; panel < panelEnd; panel++) {
                part.into(sums + (panel - panelFrom) * (long) Lanes.BYTES, step);
                if (bytes) {
                    ByteTiles.fold(p, rowFrom, panel, block, part);
                } else {
                    NibbleTiles.fold(p, rowFrom, panel, block, part);
                }
            }
        }
    }
}
