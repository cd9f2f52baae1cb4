package io.millrace.engine.golden;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.model.StepObserver;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.Selection;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/// Compares selections and residual streams of the golden prompt as they are computed.
final class GoldenObserver implements StepObserver {
    private final ModelConfig config;
    private final GoldenFile golden;
    private final int tokens;
    private double maxHiddenError;
    private int comparedSelections;
    private int differingSelections;

    GoldenObserver(ModelConfig config, GoldenFile golden, int tokens) {
        this.config = config;
        this.golden = golden;
        this.tokens = tokens;
    }

    @Override
    public void selected(int layer, RowBatch batch, Selection selection) {
        // Positions of a layer count from its first slot: 1 in the multi-token-prediction layer.
        Optional<GoldenFile.Table> expected = golden.selected(layer, tokens - batch.firstSlot());
        if (expected.isEmpty()) {
            return;
        }
        for (int row = 0; row < batch.rows(); row++) {
            comparedSelections++;
            if (differs(expected.get(), batch, row, selection)) {
                differingSelections++;
            }
        }
    }

    private static boolean differs(GoldenFile.Table expected, RowBatch batch, int row, Selection selection) {
        int position = batch.position(row);
        int rank = 0;
        for (int s = 0; s < expected.columns(); s++) {
            boolean isSelected = rank < selection.count(row) && selection.slot(row, rank) - batch.firstSlot() == s;
            if (isSelected) {
                rank++;
            }
            if (isSelected != expected.flag(position, s)) {
                return true;
            }
        }
        return rank != selection.count(row);
    }

    @Override
    public void computed(int layer, RowBatch batch, MemorySegment hidden) {
        int width = config.hiddenSize();
        Optional<GoldenFile.Table> expected = golden.hidden(layer, width);
        if (expected.isEmpty()) {
            return;
        }
        for (int row = 0; row < batch.rows(); row++) {
            for (int i = 0; i < width; i++) {
                float actual = hidden.getAtIndex(JAVA_FLOAT, (long) row * width + i);
                double error = Math.abs((double) actual - expected.get().number(batch.position(row), i));
                maxHiddenError = error <= maxHiddenError ? maxHiddenError : error;
            }
        }
    }

    double maxHiddenError() {
        return maxHiddenError;
    }

    int comparedSelections() {
        return comparedSelections;
    }

    int differingSelections() {
        return differingSelections;
    }
}
