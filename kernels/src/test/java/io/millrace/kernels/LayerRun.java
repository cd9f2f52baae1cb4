package io.millrace.kernels;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/// One attention layer over the rows of a step with one provider: its own copy of the pages and all outputs.
public final class LayerRun {
    private final Kernels kernels;
    private final LayerCase layer;
    private final StepCase step;
    private final MlaWeights weights;
    private final IndexerWeights indexer;
    public final PagedRows latent;
    public final PagedRows keys;
    public final MemorySegment query;
    public final MemorySegment indexQuery;
    public final MemorySegment headWeights;
    public final MemorySegment y;
    public final Selection selection;
    private final MlaForm form;

    public LayerRun(Kernels kernels, LayerCase layer, StepCase step, MlaForm form, int topK) {
        this.kernels = kernels;
        this.layer = layer;
        this.step = step;
        this.form = form;
        MlaShape s = layer.shape;
        MemorySegment pool = Floats.copy(step.latent.pool());
        latent = StepCase.in(pool, step.latent);
        keys = StepCase.in(pool, step.keys);
        weights = layer.pack(kernels);
        indexer = layer.packIndexer(kernels, topK);
        int rows = step.rows();
        query = Floats.zeros((long) rows * s.heads() * s.queryRow(form));
        indexQuery = Floats.zeros((long) rows * layer.indexHeads * layer.indexDim);
        headWeights = Floats.zeros((long) rows * layer.indexHeads);
        y = Floats.zeros((long) rows * s.heads() * s.vDim());
        selection = new Selection(rows, topK);
    }

    public MemorySegment pool() {
        return latent.pool();
    }

    /// Prolog, selection and attention of rows `[from, from + count)` of the step; x holds all rows of the step.
    public LayerRun run(MemorySegment x, int from, int count) {
        MlaShape s = layer.shape;
        int queryWidth = s.heads() * s.queryRow(form);
        RowBatch batch = step.batch(from, count);
        AttentionRows attention = new AttentionRows(form, Floats.rows(query, from, count, queryWidth), latent);
        IndexerProlog prolog = new IndexerProlog(
                indexer,
                keys,
                Floats.rows(indexQuery, from, count, layer.indexHeads * layer.indexDim),
                Floats.rows(headWeights, from, count, layer.indexHeads));
        kernels.mlaProlog(
                weights,
                Floats.rows(x, from, count, s.hiddenSize()),
                batch,
                step.rope(from, count, s.ropeDim()),
                attention,
                prolog);
        kernels.lightningIndexer(prolog, batch, selection);
        MemorySegment out = Floats.rows(y, from, count, s.heads() * s.vDim());
        kernels.sparseMlaAttention(weights, attention, batch, selection, out);
        return this;
    }

    /// The prolog of all rows, without the indexer if told.
    public LayerRun prolog(MemorySegment x, boolean withIndexer) {
        @Nullable IndexerProlog prolog = withIndexer ? indexer() : null;
        RopeRows rope = step.rope(0, step.rows(), layer.shape.ropeDim());
        kernels.mlaProlog(weights, x, step.batch, rope, new AttentionRows(form, query, latent), prolog);
        return this;
    }

    public LayerRun select() {
        return select(selection);
    }

    public LayerRun select(Selection into) {
        kernels.lightningIndexer(indexer(), step.batch, into);
        return this;
    }

    /// Attention of all rows with the selection given.
    public LayerRun attend(Selection chosen) {
        kernels.sparseMlaAttention(weights, new AttentionRows(form, query, latent), step.batch, chosen, y);
        return this;
    }

    /// Takes the inputs of selection and attention from another provider's run.
    public LayerRun inputsOf(LayerRun other) {
        pool().copyFrom(other.pool());
        query.copyFrom(other.query);
        indexQuery.copyFrom(other.indexQuery);
        headWeights.copyFrom(other.headWeights);
        return this;
    }

    private IndexerProlog indexer() {
        return new IndexerProlog(indexer, keys, indexQuery, headWeights);
    }
}
