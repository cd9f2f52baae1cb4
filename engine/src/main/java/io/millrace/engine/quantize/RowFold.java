package io.millrace.engine.quantize;

import io.millrace.kernels.Hadamard;

/// What is folded into a run of a matrix's rows, its outputs: each row times a factor, then
/// the block rotation `H`.
final class RowFold {
    private final int from;
    private final int block;
    private final float[] factors;

    /// @param from     first row
    /// @param block    of the rotation, 1 for none
    /// @param factors  one per row of the run
    RowFold(int from, int block, float[] factors) {
        this.from = from;
        this.block = block;
        this.factors = factors;
    }

    /// Whether rows stay apart.
    boolean isDiagonal() {
        return block == 1;
    }

    /// Factor of a row, 1 outside the run.
    float factor(int row) {
        return row < from || row >= from + factors.length ? 1 : factors[row - from];
    }

    /// Rotates whole rows among each other, in place; their factors are applied already.
    void rotate(float[][] rows) {
        for (int distance = 1; distance < block; distance *= 2) {
            for (int run = from; run < from + factors.length; run += 2 * distance) {
                for (int row = run; row < run + distance; row++) {
                    butterfly(rows[row], rows[row + distance]);
                }
            }
        }
        float factor = Hadamard.factor(block);
        for (int row = from; block > 1 && row < from + factors.length; row++) {
            float[] values = rows[row];
            for (int i = 0; i < values.length; i++) {
                values[i] *= factor;
            }
        }
    }

    private static void butterfly(float[] first, float[] second) {
        for (int i = 0; i < first.length; i++) {
            float a = first[i];
            float b = second[i];
            first[i] = a + b;
            second[i] = a - b;
        }
    }
}
