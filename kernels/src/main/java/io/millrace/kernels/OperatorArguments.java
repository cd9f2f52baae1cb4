package io.millrace.kernels;

import io.millrace.kernels.sampling.SamplingBatch;
import io.millrace.kernels.sampling.SamplingCandidates;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Checks the arguments of operators once per call, the same way for every provider; the loops behind
/// them do not check again. Violations are `IllegalArgumentException`s that name the argument, what it
/// is and what was expected.
public final class OperatorArguments {
    private OperatorArguments() {}

    /// Checks that a segment holds at least `elements` floats.
    public static void floats(String name, MemorySegment segment, long elements) {
        if (segment.byteSize() < elements * Float.BYTES) {
            throw new IllegalArgumentException(name + ": " + segment.byteSize() / Float.BYTES
                    + " float32 elements (expected: at least " + elements + ")");
        }
    }

    /// Checks that a matrix was packed into `layout` and has the given shape.
    public static void matrix(String name, PackedMatrix matrix, String layout, int outFeatures, int inFeatures) {
        layout(name, matrix, matrix.format().isInteger() ? IntegerPanels.NAME : layout);
        size(name, matrix, outFeatures, inFeatures);
    }

    private static void size(String name, PackedMatrix matrix, int outFeatures, int inFeatures) {
        if (matrix.outFeatures() != outFeatures || matrix.inFeatures() != inFeatures) {
            throw new IllegalArgumentException(name + ": [" + matrix.outFeatures() + ", " + matrix.inFeatures()
                    + "] (expected: [" + outFeatures + ", " + inFeatures + "])");
        }
    }

    /// Checks `linear`.
    public static void linear(PackedMatrix weights, String layout, MemorySegment x, int rows, MemorySegment y) {
        matrix("weights", weights, layout, weights.outFeatures(), weights.inFeatures());
        floats("x", x, (long) rows * weights.inFeatures());
        floats("y", y, (long) rows * weights.outFeatures());
    }

    /// Checks `rmsNorm` and returns its width, the number of gains.
    public static int normWidth(MemorySegment x, MemorySegment gain, int rows, MemorySegment y) {
        int width = Math.toIntExact(gain.byteSize() / Float.BYTES);
        floats("x", x, (long) rows * width);
        floats("y", y, (long) rows * width);
        return width;
    }

    /// Checks a feed-forward's weights against the width of the residual stream.
    public static void mlp(String name, GatedMlpWeights weights, String layout, int hiddenSize) {
        int width = weights.gate().outFeatures();
        matrix(name + ".gate", weights.gate(), layout, width, hiddenSize);
        matrix(name + ".up", weights.up(), layout, width, hiddenSize);
        matrix(name + ".down", weights.down(), layout, hiddenSize, width);
    }

    /// Checks `gatedMlp`.
    public static void gatedMlp(GatedMlpWeights weights, String layout, MemorySegment x, int rows, MemorySegment y) {
        int hiddenSize = weights.down().outFeatures();
        mlp("weights", weights, layout, hiddenSize);
        floats("x", x, (long) rows * hiddenSize);
        floats("y", y, (long) rows * hiddenSize);
    }

    /// Checks the routed experts against their gate. Once, when their weights are made: a step would look at
    /// hundreds of matrices that the caches have long forgotten.
    static void experts(ExpertGating gating, PackedMatrix gate, RoutedExperts experts) {
        if (experts.size() != gating.experts()) {
            throw new IllegalArgumentException("experts: " + experts.size() + " (expected: " + gating.experts() + ")");
        }
        GatedMlpWeights first = experts.getFirst();
        int width = first.gate().outFeatures();
        size("expert 0.gate", first.gate(), width, gate.inFeatures());
        size("expert 0.up", first.up(), width, gate.inFeatures());
        size("expert 0.down", first.down(), gate.inFeatures(), width);
        for (int e = 0; e < experts.size(); e++) {
            GatedMlpWeights expert = experts.get(e);
            for (PackedMatrix matrix : List.of(expert.gate(), expert.up(), expert.down())) {
                packedLike("expert " + e, matrix, gate);
            }
        }
    }

    /// Checks that a matrix has the size of another and, where both are integers or both floats, its layout.
    static void fits(String name, PackedMatrix matrix, PackedMatrix other) {
        size(name, matrix, other.outFeatures(), other.inFeatures());
        packedLike(name, matrix, other);
    }

    private static void packedLike(String name, PackedMatrix matrix, PackedMatrix other) {
        if (matrix.format().isInteger() == other.format().isInteger()) {
            layout(name, matrix, other.layout());
        }
    }

    private static void layout(String name, PackedMatrix matrix, String expected) {
        if (!matrix.layout().equals(expected)) {
            throw new IllegalArgumentException(name + ": layout " + matrix.layout() + " (expected: " + expected
                    + ", packed by the same provider)");
        }
    }

    /// Checks the matrices of heads, once, when they are put together; none is allowed.
    static void heads(String name, List<PackedMatrix> heads, MlaShape shape, int outFeatures, int inFeatures) {
        if (!heads.isEmpty() && heads.size() != shape.heads()) {
            throw new IllegalArgumentException(name + ": " + heads.size() + " (expected: " + shape.heads() + ")");
        }
        for (int head = 0; head < heads.size(); head++) {
            size(name + " " + head, heads.get(head), outFeatures, inFeatures);
            packedLike(name + " " + head, heads.get(head), heads.getFirst());
        }
    }

    /// Checks one head for all: they are alike.
    private static void head(String name, List<PackedMatrix> heads, String layout) {
        if (heads.isEmpty()) {
            throw new IllegalArgumentException(name + ": none (expected: one for each head)");
        }
        PackedMatrix first = heads.getFirst();
        matrix(name, first, layout, first.outFeatures(), first.inFeatures());
    }

    /// Checks `moeExperts`.
    public static void moe(MoeWeights weights, String layout, MemorySegment x, int rows, MemorySegment y) {
        int hiddenSize = weights.gate().inFeatures();
        int experts = weights.gating().experts();
        matrix("gate", weights.gate(), layout, experts, hiddenSize);
        if (weights.gate().format() != QuantFormat.F32) {
            throw new IllegalArgumentException("gate: " + weights.gate().format() + " (expected: F32)");
        }
        floats("correctionBias", weights.correctionBias(), experts);
        mlp("expert", weights.experts().getFirst(), layout, hiddenSize);
        mlp("shared expert", weights.shared(), layout, hiddenSize);
        floats("x", x, (long) rows * hiddenSize);
        floats("y", y, (long) rows * hiddenSize);
    }

    /// Checks the weights and outputs of `mlaProlog`.
    public static void prolog(
            MlaWeights weights, String layout, RowBatch batch, AttentionRows out, @Nullable IndexerProlog indexer) {
        MlaShape s = weights.shape();
        int headRow = s.nopeDim() + s.ropeDim();
        floats("inputNorm", weights.inputNorm(), s.hiddenSize());
        floats("qANorm", weights.qANorm(), s.qLoraRank());
        floats("kvANorm", weights.kvANorm(), s.kvLoraRank());
        matrix("qA", weights.qA(), layout, s.qLoraRank(), s.hiddenSize());
        matrix("qB", weights.qB(), layout, s.heads() * headRow, s.qLoraRank());
        matrix("kvA", weights.kvA(), layout, s.cacheRow(), s.hiddenSize());
        if (out.form() == MlaForm.ABSORBED) {
            head("keyAbsorb", weights.keyAbsorb(), layout);
        }
        attentionRows(s, batch, out);
        if (indexer != null) {
            IndexerWeights w = indexer.weights();
            if (w.headDim() < s.ropeDim()) {
                throw new IllegalArgumentException(
                        "indexer.headDim: " + w.headDim() + " (expected: at least ropeDim=" + s.ropeDim() + ")");
            }
            matrix("indexer.queryB", w.queryB(), layout, w.heads() * w.headDim(), s.qLoraRank());
            matrix("indexer.key", w.key(), layout, w.headDim(), s.hiddenSize());
            matrix("indexer.headWeights", w.headWeights(), layout, w.heads(), s.hiddenSize());
            floats("indexer.keyNormGain", w.keyNormGain(), w.headDim());
            floats("indexer.keyNormBias", w.keyNormBias(), w.headDim());
            indexerRows(indexer, batch);
        }
    }

    /// Checks the residual stream and the rotations of a step's rows.
    public static void rows(MlaShape shape, MemorySegment x, RopeRows rope, RowBatch batch) {
        floats("x", x, (long) batch.rows() * shape.hiddenSize());
        int ropeDim = shape.ropeDim();
        if (rope.ropeDim() != ropeDim || ropeDim % 2 != 0) {
            throw new IllegalArgumentException("ropeDim: " + rope.ropeDim() + " (expected: " + ropeDim + ", even)");
        }
        floats("cos", rope.cos(), (long) batch.rows() * (ropeDim / 2));
        floats("sin", rope.sin(), (long) batch.rows() * (ropeDim / 2));
    }

    /// Checks `lightningIndexer`.
    public static void indexer(IndexerProlog indexer, RowBatch batch, Selection selection) {
        int topK = indexer.weights().topK();
        // A row that sees no more than `topK` slots selects all of them, and lists none.
        for (int row = 0; topK > selection.topK() && row < batch.rows(); row++) {
            if (batch.visible(row) > topK) {
                throw new IllegalArgumentException("indexer topK: " + topK + " (expected: at most the selection's "
                        + selection.topK() + ", as row " + row + " sees " + batch.visible(row) + " slots)");
            }
        }
        indexerRows(indexer, batch);
    }

    /// Checks `sparseMlaAttention`.
    public static void attention(
            MlaWeights weights, String layout, AttentionRows input, RowBatch batch, MemorySegment y) {
        MlaShape s = weights.shape();
        head("valueUp", weights.valueUp(), layout);
        if (input.form() == MlaForm.NAIVE) {
            head("keyUp", weights.keyUp(), layout);
        }
        attentionRows(s, batch, input);
        floats("y", y, (long) batch.rows() * s.heads() * s.vDim());
    }

    /// Checks `sampleLogits`.
    public static void sampling(MemorySegment logits, SamplingBatch batch, SamplingCandidates found) {
        floats("logits", logits, (long) batch.rows() * batch.vocabSize());
        if (batch.rows() > found.maxRows()) {
            throw new IllegalArgumentException(
                    "rows to sample: " + batch.rows() + " (expected: at most " + found.maxRows() + ")");
        }
    }

    private static void attentionRows(MlaShape shape, RowBatch batch, AttentionRows rows) {
        floats("query", rows.query(), (long) batch.rows() * shape.heads() * shape.queryRow(rows.form()));
        pages("latent", rows.latent(), batch, shape.cacheRow());
    }

    private static void indexerRows(IndexerProlog indexer, RowBatch batch) {
        IndexerWeights w = indexer.weights();
        floats("indexer.query", indexer.query(), (long) batch.rows() * w.heads() * w.headDim());
        floats("indexer.headWeights", indexer.headWeights(), (long) batch.rows() * w.heads());
        pages("indexer.keys", indexer.keys(), batch, w.headDim());
    }

    private static void pages(String name, PagedRows paged, RowBatch batch, int rowElements) {
        if (paged.rowElements() != rowElements) {
            throw new IllegalArgumentException(
                    name + ": rows of " + paged.rowElements() + " elements (expected: " + rowElements + ")");
        }
        long sectionBytes = paged.sectionBytes();
        for (int row = 0; row < batch.rows(); row++) {
            int[] pages = batch.pages(row);
            int last = batch.slot(row) / PagedRows.PAGE_TOKENS;
            if (last >= pages.length) {
                throw new IllegalArgumentException(name + ": page table of " + pages.length
                        + " pages (expected: at least " + (last + 1) + " for slot " + batch.slot(row) + ")");
            }
            boolean lastOfSequence = row + 1 == batch.rows() || batch.sequence(row + 1) != batch.sequence(row);
            for (int block = lastOfSequence ? 0 : last; block <= last; block++) {
                long start = pages[block] * paged.pageBytes() + paged.sectionOffset();
                if (start < 0 || start + sectionBytes > paged.pool().byteSize()) {
                    throw new IllegalArgumentException(name + ": page " + pages[block] + " (expected: inside a pool of "
                            + paged.pool().byteSize() / Math.max(1, paged.pageBytes()) + " pages)");
                }
            }
        }
    }
}
