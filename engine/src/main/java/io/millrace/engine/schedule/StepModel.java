package io.millrace.engine.schedule;

import io.millrace.engine.kv.PagePool;
import io.millrace.engine.sampling.Sampler;

/// What the loop asks of a model: compute the rows of a step over the pages of a pool. Used by the loop
/// thread alone.
interface StepModel extends AutoCloseable {
    /// Most tokens of a sequence.
    int contextTokens();

    int vocabSize();

    int hiddenSize();

    /// The pages this model computes on. Owned by the loop, closed by [#close()].
    PagePool pool();

    /// What has become of the weights if they are damaged, and what helps; ends a sentence that begins with
    /// `the `.
    String damage();

    /// Computes all rows of the plan: their cached rows, multi-token-prediction rows and the boundary
    /// state of every block they fill are in the pages afterwards. Then scans the logits of the plan's
    /// sampled rows, which stay as they are until the next step.
    ///
    /// @param sampler  the sampled rows, in order
    /// @return nanoseconds the computing took; waits for other loops' steps are not part of it
    long step(StepPlan plan, Sampler sampler);

    /// Copies the post-final-norm state of a row of the last step.
    void copyState(int row, float[] state);

    @Override
    void close();
}
