package io.millrace.engine.model;

import io.millrace.kernels.RowBatch;
import io.millrace.kernels.Selection;
import java.lang.foreign.MemorySegment;

/// Sees what a forward pass computes inside, for verification. Everything is borrowed for the call.
public interface StepObserver {
    /// Called after a layer that owns an indexer has selected; the multi-token-prediction layer comes
    /// as the number of layers.
    void selected(int layer, RowBatch batch, Selection selection);

    /// Called after each layer with the residual stream, float32 `[batch.rows(), hiddenSize]`; rotated
    /// where the checkpoint's weights are.
    void computed(int layer, RowBatch batch, MemorySegment hidden);
}
