package io.millrace.kernels.vector;

import io.millrace.kernels.PackedMatrix;

/// Products of one thread with packed weights of any format. Rows that an integer product rounded are
/// kept for the next matrix with the same inputs.
final class WeightProduct {
    private final Product product = new Product();
    private final RoundedRows rounded;
    private final IntegerTiles tiles;
    private boolean fresh;

    WeightProduct(Scratch scratch) {
        rounded = new RoundedRows(scratch.buffer());
        tiles = new IntegerTiles(scratch);
    }

    /// Makes room for up to `rows` rows by a matrix.
    void reserve(PackedMatrix w, int rows) {
        if (w.format().isInteger()) {
            rounded.reserve(w, rows);
            tiles.reserve(w);
        }
    }

    /// Forgets rounded rows: the next product's x holds other values.
    void renew() {
        fresh = true;
    }

    /// Computes `y = x Wᵀ` for rows `xRow` and `yRow` bytes apart; whole panels are stored. Without
    /// [#renew] in between, x at the same address holds what it held.
    void compute(PackedMatrix w, Rows x, Rows y) {
        product.weights(w);
        if (w.format().isInteger()) {
            if (fresh || !rounded.serves(w, x.address, x.step, x.count)) {
                rounded.take(w, x.address, x.step, x.count);
                rounded.round(0, x.count);
                fresh = false;
            }
            product.rows(rounded);
        } else {
            product.rows(x.address, x.step, x.count);
        }
        product.into(y.address, y.step);
        tiles.compute(product, 0, x.count, 0, product.panels());
    }

    /// Float rows `step` bytes apart.
    record Rows(long address, long step, int count) {}
}
