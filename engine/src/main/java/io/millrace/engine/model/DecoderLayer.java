package io.millrace.engine.model;

import io.millrace.engine.kv.KvLayout;
import io.millrace.kernels.AttentionRows;
import io.millrace.kernels.IndexerProlog;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.RopeRows;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.Selection;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/// One decoder layer of one transformer: its weights bound to a pool of pages and to the step's
/// scratch, so that a step makes no objects.
final class DecoderLayer {
    private final Kernels kernels;
    private final LayerWeights weights;
    private final Scratch scratch;
    private final AttentionRows attention;
    private final @Nullable IndexerProlog indexer;
    private final boolean dense;

    /// What the layers of a transformer have in common.
    ///
    /// @param kernels  computes
    /// @param layout   of the pages
    /// @param pool     the pages
    /// @param scratch  of the step
    /// @param form     of attention
    /// @param dense    whether rows attend to every visible slot
    record Binding(
            Kernels kernels, KvLayout layout, MemorySegment pool, Scratch scratch, MlaForm form, boolean dense) {}

    DecoderLayer(Binding binding, LayerWeights weights, int number) {
        this.kernels = binding.kernels;
        this.weights = weights;
        this.scratch = binding.scratch;
        this.dense = binding.dense;
        this.attention = new AttentionRows(binding.form, scratch.query(), binding.layout.latent(binding.pool, number));
        this.indexer = weights.indexer() == null
                ? null
                : new IndexerProlog(
                        weights.indexer(),
                        binding.layout.index(binding.pool, number),
                        scratch.indexQuery(),
                        scratch.indexWeights());
    }

    /// Computes queries and writes the rows' keys. `x` is the residual stream; not changed.
    void prolog(MemorySegment x, RowBatch batch, RopeRows rope) {
        kernels.mlaProlog(weights.attention(), x, batch, rope, attention, indexer);
    }

    /// Selects slots if this layer owns an indexer, else leaves the selection of the layer before.
    /// Returns whether it selected.
    boolean select(RowBatch batch, Selection selection) {
        if (indexer == null) {
            return false;
        }
        if (dense) {
            for (int row = 0; row < batch.rows(); row++) {
                selection.selectAll(row, batch.visible(row));
            }
        } else {
            kernels.lightningIndexer(indexer, batch, selection);
        }
        return true;
    }

    /// Attention over the selection and the feed-forward; both are added to `x`.
    void attendAndFeed(MemorySegment x, RowBatch batch, Selection selection) {
        int rows = batch.rows();
        long elements = (long) rows * weights.attention().shape().hiddenSize();
        kernels.sparseMlaAttention(weights.attention(), attention, batch, selection, scratch.attended());
        kernels.linear(weights.attention().output(), scratch.attended(), rows, scratch.delta());
        kernels.add(scratch.delta(), x, elements);
        float eps = weights.attention().shape().rmsEps();
        kernels.rmsNorm(x, weights.postNorm(), eps, rows, scratch.normed());
        switch (weights.feedForward()) {
            case FeedForward.Dense(var mlp) -> kernels.gatedMlp(mlp, scratch.normed(), rows, scratch.delta());
            case FeedForward.Experts(var moe) -> kernels.moeExperts(moe, scratch.normed(), rows, scratch.delta());
        }
        kernels.add(scratch.delta(), x, elements);
    }
}
