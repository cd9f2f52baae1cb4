package io.millrace.kernels.nativecode;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.millrace.kernels.AttentionRows;
import io.millrace.kernels.IndexerProlog;
import io.millrace.kernels.IndexerWeights;
import io.millrace.kernels.IntegerPanels;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.MlaWeights;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.RopeRows;
import io.millrace.kernels.RopeStyle;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.ScaleAxis;
import io.millrace.kernels.pool.KernelPool;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/// Attention preprocessing: three dispatches of products (what reads the hidden state, what reads the
/// query latent, W_UK), and row by row work before, between and after them.
final class PrologPhases {
    private static final int CALL_FIELDS = 77;
    private static final int HIDDEN_PRODUCTS = 4;
    private static final int LATENT_PRODUCTS = 2;
    private static final int MOST_ROWS_PER_CHUNK = 4;

    private final KernelPool pool;
    private final LinearPhase linear;
    private final Phase input;
    private final Phase latents;
    private final Phase heads;
    private final CallBlock call;
    private final StepRows step;
    private final RoundedRows roundedHidden;
    private final RoundedRows roundedLatent;
    private final RoundedRows roundedHeads;
    private final Buffer hiddenBuffer;
    private final Buffer latentBuffer;
    private final Buffer headBuffer;
    private final Buffer factorBuffer;

    PrologPhases(NativeLibrary library, Buffers buffers, KernelPool pool, LinearPhase linear) {
        this.pool = pool;
        this.linear = linear;
        input = new Phase(library, "prolog_input", false);
        latents = new Phase(library, "prolog_latents", false);
        heads = new Phase(library, "prolog_heads", false);
        call = new CallBlock(buffers, CALL_FIELDS);
        step = new StepRows(buffers);
        roundedHidden = new RoundedRows(buffers);
        roundedLatent = new RoundedRows(buffers);
        roundedHeads = new RoundedRows(buffers);
        hiddenBuffer = buffers.buffer();
        latentBuffer = buffers.buffer();
        headBuffer = buffers.buffer();
        factorBuffer = buffers.buffer();
    }

    /// What a call is about.
    record Call(
            MlaWeights weights,
            MemorySegment x,
            RowBatch batch,
            RopeRows rope,
            AttentionRows out,
            @Nullable IndexerProlog indexer) {

        int rows() {
            return batch.rows();
        }
    }

    /// Where what is between the phases lies: addresses and floats from row to row.
    private record Places(
            long hidden, long query, long queryStep, long key, long keyStep, long index, long heads, long headStep) {}

    void run(Call c) {
        MlaShape s = c.weights.shape();
        Places places = places(c, s);
        step.fill(c.batch);
        fill(c, places);
        int chunks = Math.ceilDiv(c.rows(), rowsPerChunk(c));
        input.run(pool, call, chunks);
        projectHidden(c, places);
        latents.run(pool, call, chunks);
        projectLatent(c, places);
        heads.run(pool, call, chunks * headParts(c));
        absorb(c, places);
    }

    private int rowsPerChunk(Call c) {
        return Math.min(MOST_ROWS_PER_CHUNK, Math.ceilDiv(c.rows(), pool.threads()));
    }

    /// Parts that the heads of a chunk are cut into where there are fewer chunks than threads.
    private int headParts(Call c) {
        int chunks = Math.ceilDiv(c.rows(), rowsPerChunk(c));
        return Math.clamp(pool.threads() / chunks, 1, c.weights.shape().heads());
    }

    private Places places(Call c, MlaShape s) {
        long rows = c.rows();
        IndexerProlog indexer = c.indexer;
        int indexDim = indexer == null ? 0 : indexer.weights().headDim();
        int headStep = s.heads() * (s.nopeDim() + s.ropeDim());
        long hidden = hiddenBuffer.floats(rows * s.hiddenSize());
        long query = latentBuffer.floats(rows * (s.qLoraRank() + s.cacheRow() + indexDim));
        long key = query + rows * s.qLoraRank() * Float.BYTES;
        long index = key + rows * s.cacheRow() * Float.BYTES;
        return new Places(
                hidden, query, s.qLoraRank(), key, s.cacheRow(), index, headBuffer.floats(rows * headStep), headStep);
    }

    private static int hiddenInputs(Call c) {
        IndexerProlog indexer = c.indexer;
        int inputs = RoundedRows.inputs(c.weights.qA(), c.weights.kvA());
        return indexer == null
                ? inputs
                : Math.max(
                        inputs,
                        RoundedRows.inputs(
                                indexer.weights().key(), indexer.weights().headWeights()));
    }

    private static int latentInputs(Call c) {
        IndexerProlog indexer = c.indexer;
        return indexer == null
                ? RoundedRows.inputs(c.weights.qB())
                : RoundedRows.inputs(c.weights.qB(), indexer.weights().queryB());
    }

    private void fill(Call c, Places p) {
        MlaWeights w = c.weights;
        MlaShape s = w.shape();
        step.put(call.begin(), step.firstSlot());
        call.put(rowsPerChunk(c)).put(headParts(c));
        call.put((double) s.rmsEps()).put((double) s.latentRmsEps()).put((double) IndexerWeights.KEY_NORM_EPS);
        call.put(s.hiddenSize())
                .put(s.qLoraRank())
                .put(s.kvLoraRank())
                .put(s.nopeDim())
                .put(s.ropeDim());
        call.put(s.heads()).put(s.queryRow(MlaForm.ABSORBED)).put(1);
        IndexerProlog indexer = c.indexer;
        call.put(rope(s.ropeStyle()));
        call.put(indexer == null ? 0 : rope(indexer.weights().ropeStyle()));
        call.put(c.rope.cos()).put(c.rope.sin()).put(c.x);
        call.put(w.inputNorm()).put(w.qANorm()).put(w.kvANorm());
        call.put(p.hidden);
        putRounded(roundedHidden, c.rows(), hiddenInputs(c));
        call.put(p.query).put(p.queryStep);
        putRounded(roundedLatent, c.rows(), latentInputs(c));
        call.put(p.key).put(p.keyStep).put(c.out.latent());
        call.put(p.heads).put(p.headStep).put(absorbFactors(w));
        int headInputs = w.keyAbsorb().integerInputs();
        putRounded(roundedHeads, (long) c.rows() * s.heads(), headInputs);
        call.put(c.out.query());
        putIndexer(indexer, p);
    }

    private void putRounded(RoundedRows rounded, long rows, int inputs) {
        if (inputs > 0) {
            rounded.reserve(rows, inputs).put(call);
        } else {
            RoundedRows.putNone(call);
        }
    }

    private void putIndexer(@Nullable IndexerProlog indexer, Places p) {
        if (indexer == null) {
            call.put(false);
            return;
        }
        IndexerWeights w = indexer.weights();
        call.put(true).put(p.index).put(w.headDim()).put(w.heads()).put(w.headDim());
        call.put(w.keyNormGain()).put(w.keyNormBias()).put(indexer.keys());
        call.put(indexer.headWeights()).put(1 / Math.sqrt((double) w.heads() * w.headDim()));
        call.put(indexer.query());
    }

    // Scales of W_UK lie along the inputs of the absorbing product.
    private long absorbFactors(MlaWeights w) {
        MemorySegment factors = factorBuffer.bytes((long) w.shape().heads() * Long.BYTES);
        for (int h = 0; h < w.shape().heads(); h++) {
            factors.setAtIndex(
                    JAVA_LONG,
                    h,
                    inputScales(w.keyAbsorb().like(h), w.keyAbsorb().address(h)));
        }
        return factors.address();
    }

    /// Address of the scales of a matrix by inputs; 0 for none.
    static long inputScales(PackedMatrix matrix) {
        return inputScales(matrix, matrix.data().address());
    }

    // Of a matrix like this one that lies elsewhere.
    private static long inputScales(PackedMatrix matrix, long address) {
        return matrix.format().isInteger() && matrix.scaleAxis() == ScaleAxis.INPUT
                ? address + IntegerPanels.scaleOffset(matrix)
                : 0;
    }

    private static long rope(RopeStyle style) {
        return switch (style) {
            case INTERLEAVED -> 0;
            case HALF_SPLIT -> 1;
        };
    }

    private void projectHidden(Call c, Places p) {
        MlaWeights w = c.weights;
        var in = LinearPhase.Rows.of(p.hidden, w.shape().hiddenSize(), roundedHidden, c.rows());
        linear.begin(HIDDEN_PRODUCTS);
        linear.add(w.qA(), in, p.query, p.queryStep).add(w.kvA(), in, p.key, p.keyStep);
        IndexerProlog indexer = c.indexer;
        if (indexer != null) {
            IndexerWeights i = indexer.weights();
            linear.add(i.key(), in, p.index, i.headDim());
            linear.add(i.headWeights(), in, indexer.headWeights().address(), i.heads());
        }
        linear.run(pool);
    }

    private void projectLatent(Call c, Places p) {
        var in = LinearPhase.Rows.of(p.query, p.queryStep, roundedLatent, c.rows());
        linear.begin(LATENT_PRODUCTS).add(c.weights.qB(), in, p.heads, p.headStep);
        IndexerProlog indexer = c.indexer;
        if (indexer != null) {
            IndexerWeights i = indexer.weights();
            linear.add(i.queryB(), in, indexer.query().address(), (long) i.heads() * i.headDim());
        }
        linear.run(pool);
    }

    private void absorb(Call c, Places p) {
        MlaShape s = c.weights.shape();
        int headRow = s.nopeDim() + s.ropeDim();
        int queryRow = s.queryRow(MlaForm.ABSORBED);
        linear.begin(s.heads());
        for (int h = 0; h < s.heads(); h++) {
            long x = p.heads + (long) h * headRow * Float.BYTES;
            var in = new LinearPhase.Rows(x, p.headStep, roundedHeads, h, s.heads(), 0, c.rows());
            long y = c.out.query().address() + (long) h * queryRow * Float.BYTES;
            linear.add(c.weights.keyAbsorb(), h, in, y, (long) s.heads() * queryRow);
        }
        linear.run(pool);
    }
}
