package io.millrace.engine.schedule;

import io.millrace.engine.kv.PagePool;
import java.lang.foreign.MemorySegment;

/// What the loop asks of a model: compute the rows of a step over the pages of a pool. Used by the loop
/// thread alone.
interface StepModel extends AutoCloseable {
    /// Most tokens of a sequence.
    int contextTokens();

    int vocabSize();

    int hiddenSize();

    /// The pages this model computes on. Owned by the loop, closed by [#close()].
    PagePool pool();

    /// Computes all rows of the plan: their cached rows, multi-token-prediction rows and the boundary
    /// state of every block they fill are in the pages afterwards.
    ///
    /// @return nanoseconds the computing took; waits for other loops' steps are not part of it
    long step(StepPlan plan);

    /// Copies the post-final-norm state of a row of the last step.
    void copyState(int row, float[] state);

    /// Logits of the plan's sampled rows, in order: the one numbered `index`, float32 `[vocabSize]`.
    /// Valid until the next step.
    MemorySegment logits(int index);

    @Override
    void close();
}
