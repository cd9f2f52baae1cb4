package io.millrace.engine.model;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import io.millrace.engine.kv.KvLayout;
import io.millrace.engine.kv.PagePool;
import io.millrace.kernels.IndexerWeights;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.RopeRows;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.Selection;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/// The forward pass of one engine loop: weights of a [LoadedModel], keys in a [PagePool], scratch
/// memory of its own that is allocated once. A step is a flat batch of rows of several sequences,
/// prefill chunks and decode rows mixed; what a row yields depends on its sequence's tokens alone, to
/// the bit.
///
/// One thread uses it at a time, and enters the model's [StepGate] for each step: [#forward], then as
/// many of the other calls as it wants, which read the last step's rows.
///
/// A step writes each row's latent and index keys of every layer, its multi-token-prediction row (slot
/// `i` holds the pair `(h_{i-1}, t_i)`; nothing at slot 0), and into each page whose last slot it fills
/// the boundary state.
public final class Transformer implements AutoCloseable {
    private static final StepObserver BLIND = new StepObserver() {
        @Override
        public void selected(int layer, RowBatch batch, Selection selection) {}

        @Override
        public void computed(int layer, RowBatch batch, MemorySegment hidden) {}
    };

    private final Arena arena = Arena.ofShared();
    private final LoadedModel model;
    private final Kernels kernels;
    private final PagePool pool;
    private final ModelWeights weights;
    private final Scratch scratch;
    private final DecoderLayer[] layers;
    private final @Nullable MtpPass mtp;
    private final RopeAngles rope;
    private final Selection selection;
    private final RowBatch batch;
    private final int hiddenSize;
    private final float rmsEps;
    private final long rowBytes;
    private StepObserver observer = BLIND;
    private boolean predicted;
    private boolean closed;

    /// @param model   weights and kernels; borrowed, must outlive this
    /// @param pool    pages of the model's layout; borrowed, must outlive this
    /// @param limits  its limits are those of every step; its rows are not read
    public Transformer(LoadedModel model, PagePool pool, StepInput limits) {
        this(model, pool, limits, model.config().rope().inverseFrequencies());
    }

    /// With other rotary frequencies than the model's, for comparison with values that were computed
    /// with such.
    ///
    /// @param inverseFrequencies  angle per position of each rotated pair, `[ropeDim / 2]`
    public Transformer(LoadedModel model, PagePool pool, StepInput limits, float[] inverseFrequencies) {
        if (!pool.layout().layoutId().equals(model.layout().layoutId())) {
            throw new IllegalArgumentException("KV pool layout: "
                    + pool.layout().layoutId() + " (expected: " + model.layout().layoutId() + ")");
        }
        this.model = model;
        this.kernels = model.kernels();
        this.pool = pool;
        this.weights = model.weights();
        this.hiddenSize = model.config().hiddenSize();
        this.rmsEps = model.config().rmsEps();
        this.rowBytes = (long) hiddenSize * Float.BYTES;
        int maxRows = limits.maxRows();
        // First of all, as it may be refused.
        this.selection = model.selectionMemory().allocate(maxRows, pool.pages());
        IndexerWeights indexer = weights.anyIndexer();
        this.scratch = Scratch.allocate(model.config().mlaShape(), model.mlaForm(), indexer, maxRows, arena);
        this.rope = new RopeAngles(inverseFrequencies, maxRows, arena);
        this.batch = new RowBatch(maxRows, limits.maxSequences());
        var binding = new DecoderLayer.Binding(
                kernels, model.layout(), pool.memory(), scratch, model.mlaForm(), model.dense());
        this.layers = new DecoderLayer[weights.layers().size()];
        for (int layer = 0; layer < layers.length; layer++) {
            layers[layer] = new DecoderLayer(binding, weights.layers().get(layer), layer);
        }
        MtpWeights mtpWeights = weights.mtp();
        this.mtp = mtpWeights == null
                ? null
                : new MtpPass(
                        model,
                        mtpWeights,
                        new DecoderLayer(binding, mtpWeights.layer(), layers.length),
                        rope,
                        limits,
                        arena);
    }

    /// Computes a step. Afterwards [#state], [#logits] and [#predict] serve its rows.
    ///
    /// @param input  at least one row
    public void forward(StepInput input) {
        check(input);
        predicted = false;
        fillBatch(input);
        for (int row = 0; row < input.rows(); row++) {
            weights.embedding().lookUp(input.token(row), scratch.residual(), row * rowBytes);
        }
        RopeRows rotations = rope.fill(batch);
        selection.firstSlot(0);
        for (int layer = 0; layer < layers.length; layer++) {
            layers[layer].prolog(scratch.residual(), batch, rotations);
            if (layers[layer].select(batch, selection)) {
                observer.selected(layer, batch, selection);
            }
            layers[layer].attendAndFeed(scratch.residual(), batch, selection);
            observer.computed(layer, batch, scratch.residual());
        }
        weights.finalNorm().apply(kernels, scratch.residual(), rmsEps, batch.rows(), scratch.state());
        writeBoundaryStates();
        if (mtp != null) {
            mtp.writeRows(input, scratch.state());
        }
    }

    private void check(StepInput input) {
        if (input.rows() < 1 || input.rows() > batch.maxRows()) {
            throw new IllegalArgumentException(
                    "rows of a step: " + input.rows() + " (expected: 1.." + batch.maxRows() + ")");
        }
        for (int s = 0; mtp != null && s < input.sequences(); s++) {
            int length = input.stateBefore(s).length;
            if (input.firstSlot(s) > 0 && length != hiddenSize) {
                throw new IllegalArgumentException("state before slot " + input.firstSlot(s) + ": " + length
                        + " elements (expected: " + hiddenSize + ")");
            }
        }
    }

    private void fillBatch(StepInput input) {
        batch.clear(0);
        for (int s = 0; s < input.sequences(); s++) {
            int sequence = batch.addSequence(input.pages(s));
            int start = input.rowStart(s);
            for (int row = start; row < input.rowEnd(s); row++) {
                batch.addRow(sequence, input.firstSlot(s) + row - start);
            }
        }
    }

    private void writeBoundaryStates() {
        KvLayout layout = model.layout();
        long section = layout.sectionOffset(layout.boundarySection());
        for (int row = 0; row < batch.rows(); row++) {
            int slot = batch.slot(row);
            if (slot % KvLayout.PAGE_TOKENS == KvLayout.PAGE_TOKENS - 1) {
                long page = batch.pages(row)[slot / KvLayout.PAGE_TOKENS];
                MemorySegment.copy(
                        scratch.state(), row * rowBytes, pool.memory(), page * layout.pageBytes() + section, rowBytes);
            }
        }
    }

    /// Copies the post-final-norm state of a row of the last step: what the sequence's next step wants
    /// as the state before it.
    ///
    /// @param target  `[hiddenSize]`
    public void state(int row, float[] target) {
        checkRow(row);
        MemorySegment.copy(scratch.state(), JAVA_FLOAT, row * rowBytes, target, 0, hiddenSize);
    }

    /// Logits of chosen rows of the last step.
    ///
    /// @param rows   row numbers
    /// @param count  how many of them
    /// @param out    float32 `[count, vocabSize]`, 64-byte aligned native memory
    public void logits(int[] rows, int count, MemorySegment out) {
        for (int i = 0; i < count; i++) {
            checkRow(rows[i]);
            gather(i, rows[i], scratch.state());
        }
        head(count, out);
    }

    /// Computes the multi-token-prediction layer for every row of the last step that is not at slot 0:
    /// at slot `i` it predicts token `i + 1` from the state of token `i - 1` and token `i`, without the
    /// state of token `i`. Call it at most once a step, directly after [#forward] or [#logits].
    public void predict() {
        if (predicted) {
            throw new IllegalStateException("the rows of this step are predicted already (expected: once a step)");
        }
        // The MTP rows were the last to use the query scratch, so their queries are still there.
        mtpPass().predict(selection, scratch.residual(), observer, layers.length);
        predicted = true;
    }

    /// Logits of the multi-token-prediction layer for chosen rows of the last step, after [#predict].
    ///
    /// @param rows   row numbers of the step, none at slot 0
    /// @param count  how many of them
    /// @param out    float32 `[count, vocabSize]`, 64-byte aligned native memory
    public void predictedLogits(int[] rows, int count, MemorySegment out) {
        if (!predicted) {
            throw new IllegalStateException("the rows of this step are not predicted (expected: predict first)");
        }
        for (int i = 0; i < count; i++) {
            checkRow(rows[i]);
            gather(i, mtpPass().pairOf(rows[i]), scratch.residual());
        }
        head(count, out);
    }

    private void head(int count, MemorySegment out) {
        if (count > 0) {
            weights.rotation().apply(kernels, scratch.normed(), count);
            kernels.linear(weights.head(), scratch.normed(), count, out);
        }
    }

    /// Sets who sees what the next steps compute inside; null for nobody.
    public void observe(@Nullable StepObserver stepObserver) {
        this.observer = stepObserver == null ? BLIND : stepObserver;
    }

    private MtpPass mtpPass() {
        if (mtp == null) {
            throw new IllegalStateException(
                    "the model has no multi-token-prediction layer (expected: num_nextn_predict_layers 1)");
        }
        return mtp;
    }

    private void gather(int target, int row, MemorySegment from) {
        MemorySegment.copy(from, row * rowBytes, scratch.normed(), target * rowBytes, rowBytes);
    }

    private void checkRow(int row) {
        if (row < 0 || row >= batch.rows()) {
            throw new IllegalArgumentException(
                    "row: " + row + " (expected: 0.." + (batch.rows() - 1) + ", a row of the last step)");
        }
    }

    /// Releases the scratch memory. Idempotent.
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            arena.close();
        }
    }
}
