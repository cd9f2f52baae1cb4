package io.millrace.engine.synthetic;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import io.millrace.engine.model.StepObserver;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.Selection;
import java.lang.foreign.MemorySegment;

/// Keeps the largest magnitude of all residual streams.
final class LargestResidual implements StepObserver {
    private final int hiddenSize;
    private double largest;

    LargestResidual(int hiddenSize) {
        this.hiddenSize = hiddenSize;
    }

    double largest() {
        return largest;
    }

    @Override
    public void selected(int layer, RowBatch batch, Selection selection) {}

    @Override
    public void computed(int layer, RowBatch batch, MemorySegment hidden) {
        for (long i = 0; i < (long) batch.rows() * hiddenSize; i++) {
            largest = Math.max(largest, Math.abs(hidden.getAtIndex(JAVA_FLOAT, i)));
        }
    }
}
