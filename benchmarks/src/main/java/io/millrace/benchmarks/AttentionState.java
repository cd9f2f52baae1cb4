package io.millrace.benchmarks;

import io.millrace.kernels.AttentionRows;
import io.millrace.kernels.IndexerProlog;
import io.millrace.kernels.IndexerWeights;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.MlaWeights;
import io.millrace.kernels.PackedMatrices;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.RopeRows;
import io.millrace.kernels.RopeStyle;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.Selection;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// Attention layers whose weights or cached keys together fit no cache, and the rows of a step.
final class AttentionState implements AutoCloseable {
    private final Bench bench;
    private final Sizes sizes;
    private final RowBatch batch;
    private final RopeRows rope;
    private final Selection selection;
    private final MemorySegment x;
    private final MemorySegment y;
    private final List<Layer> layers = new ArrayList<>();
    private int next;

    private record Layer(MlaWeights weights, AttentionRows attention, IndexerProlog indexer) {}

    /// What a layer has of its own; the rest is the first one's.
    enum Varied {
        WEIGHTS,
        KEYS
    }

    AttentionState(Bench bench, Sizes sizes, KvFormat kv, int rows, Varied varied) {
        this.bench = bench;
        this.sizes = sizes;
        MlaShape mla = sizes.mla();
        batch = Bench.lastRows(sizes.context(), rows);
        int pairs = rows * mla.ropeDim() / 2;
        rope = new RopeRows(bench.ones(pairs), bench.zeros(pairs), mla.ropeDim());
        selection = new Selection(rows, sizes.topK());
        x = bench.floats((long) rows * mla.hiddenSize());
        y = bench.zeros((long) rows * mla.heads() * mla.vDim());
        MemorySegment query = bench.floats((long) rows * mla.heads() * mla.queryRow(MlaForm.ABSORBED));
        MemorySegment indexQuery = bench.floats((long) rows * sizes.indexHeads() * sizes.indexDim());
        MemorySegment headWeights = bench.floats((long) rows * sizes.indexHeads());
        MlaWeights weights = weights();
        IndexerWeights indexer = indexer();
        long own = varied == Varied.WEIGHTS ? bytes(weights) : keyBytes(kv);
        int count = (int) Math.ceilDiv(sizes.outOfCache(), own);
        for (int i = 0; i < count; i++) {
            if (i > 0 && varied == Varied.WEIGHTS) {
                weights = weights();
            }
            boolean first = i == 0 || varied == Varied.KEYS;
            AttentionRows attention = first
                    ? new AttentionRows(
                            MlaForm.ABSORBED, query, bench.pages(kv, sizes.context(), mla.cacheRow(), mla.kvLoraRank()))
                    : layers.getFirst().attention;
            IndexerProlog prolog = first
                    ? new IndexerProlog(
                            indexer,
                            bench.pages(kv, sizes.context(), sizes.indexDim(), sizes.indexDim()),
                            indexQuery,
                            headWeights)
                    : layers.getFirst().indexer;
            layers.add(new Layer(weights, attention, prolog));
        }
        // Rows select what the indexer finds, from here on.
        bench.kernels().lightningIndexer(layers.getFirst().indexer, batch, selection);
    }

    private static long bytes(MlaWeights w) {
        return w.qA().data().byteSize()
                + w.qB().data().byteSize()
                + w.kvA().data().byteSize();
    }

    private long keyBytes(KvFormat kv) {
        return (long) sizes.context() * sizes.mla().cacheRow() * kv.elementBytes();
    }

    private MlaWeights weights() {
        MlaShape mla = sizes.mla();
        QuantFormat w8 = QuantFormat.W8A8;
        List<PackedMatrix> absorb = new ArrayList<>();
        List<PackedMatrix> values = new ArrayList<>();
        for (int head = 0; head < mla.heads(); head++) {
            absorb.add(bench.transposed(w8, mla.kvLoraRank(), mla.nopeDim()));
            values.add(bench.matrix(w8, mla.vDim(), mla.kvLoraRank()));
        }
        return new MlaWeights(
                mla,
                bench.ones(mla.hiddenSize()),
                bench.matrix(w8, mla.qLoraRank(), mla.hiddenSize()),
                bench.ones(mla.qLoraRank()),
                bench.matrix(w8, mla.heads() * (mla.nopeDim() + mla.ropeDim()), mla.qLoraRank()),
                bench.matrix(w8, mla.cacheRow(), mla.hiddenSize()),
                bench.ones(mla.kvLoraRank()),
                List.of(),
                PackedMatrices.of(head -> "keyAbsorb " + head, absorb),
                PackedMatrices.of(head -> "valueUp " + head, values),
                bench.matrix(w8, mla.hiddenSize(), mla.heads() * mla.vDim()));
    }

    private IndexerWeights indexer() {
        return new IndexerWeights(
                sizes.indexHeads(),
                sizes.indexDim(),
                sizes.topK(),
                RopeStyle.INTERLEAVED,
                bench.matrix(
                        QuantFormat.W8A8,
                        sizes.indexHeads() * sizes.indexDim(),
                        sizes.mla().qLoraRank()),
                bench.matrix(QuantFormat.W8A8, sizes.indexDim(), sizes.hidden()),
                bench.ones(sizes.indexDim()),
                bench.zeros(sizes.indexDim()),
                bench.matrix(QuantFormat.F32, sizes.indexHeads(), sizes.hidden()));
    }

    private Layer layer() {
        Layer layer = layers.get(next);
        next = (next + 1) % layers.size();
        return layer;
    }

    void prolog() {
        Layer layer = layer();
        bench.kernels().mlaProlog(layer.weights, x, batch, rope, layer.attention, layer.indexer);
    }

    void select() {
        bench.kernels().lightningIndexer(layer().indexer, batch, selection);
    }

    void attend() {
        Layer layer = layer();
        bench.kernels().sparseMlaAttention(layer.weights, layer.attention, batch, selection, y);
    }

    @Override
    public void close() {
        bench.close();
    }
}
