package io.millrace.kernels.vector;

import io.millrace.kernels.AttentionRows;
import io.millrace.kernels.IndexerProlog;
import io.millrace.kernels.IndexerWeights;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.MlaWeights;
import io.millrace.kernels.RopeRows;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.pool.KernelPool;
import io.millrace.kernels.pool.PoolTask;
import org.jspecify.annotations.Nullable;

/// Attention preprocessing: three matrix phases (what reads the hidden state; what reads the query latent; W_UK) with
/// the row by row work between them.
final class PrologRows implements PoolTask {
    private static final int ROWS_PER_CHUNK = 4;

    private enum Phase {
        INPUT_NORM,
        LATENTS,
        HEADS
    }

    private final KernelPool pool;
    private final LinearBatch linear;
    private final Scratch.Buffer hiddenBuffer;
    private final Scratch.Buffer latentBuffer;
    private final Scratch.Buffer queryBuffer;

    private Phase phase = Phase.INPUT_NORM;
    private int rows;
    private long x;
    private long hidden;
    private long queryLatent;
    private long keyLatent;
    private long indexKey;
    private long heads;
    private long out;
    private @Nullable MlaWeights weights;
    private @Nullable RowBatch batch;
    private @Nullable RopeRows rope;
    private @Nullable AttentionRows target;
    private @Nullable IndexerProlog indexer;

    PrologRows(KernelPool pool, LinearBatch linear, Scratch scratch) {
        this.pool = pool;
        this.linear = linear;
        this.hiddenBuffer = scratch.buffer();
        this.latentBuffer = scratch.buffer();
        this.queryBuffer = scratch.buffer();
    }

    /// What a call is about.
    record Call(MlaWeights weights, RowBatch batch, RopeRows rope, AttentionRows out) {}

    void run(long residual, Call call, @Nullable IndexerProlog indexerPart) {
        weights = call.weights;
        batch = call.batch;
        rope = call.rope;
        target = call.out;
        indexer = indexerPart;
        rows = call.batch.rows();
        x = residual;
        out = Lanes.address(call.out.query());
        MlaShape s = call.weights.shape();
        int latents = Lanes.padded(s.qLoraRank()) + Lanes.padded(s.cacheRow());
        int keyWidth =
                indexerPart == null ? 0 : Lanes.padded(indexerPart.weights().headDim());
        hidden = hiddenBuffer.floats((long) rows * s.hiddenSize());
        queryLatent = latentBuffer.floats((long) rows * (latents + keyWidth));
        keyLatent = queryLatent + (long) rows * Lanes.padded(s.qLoraRank()) * 4;
        indexKey = keyLatent + (long) rows * Lanes.padded(s.cacheRow()) * 4;
        heads = queryBuffer.floats((long) rows * Lanes.padded(s.heads() * (s.nopeDim() + s.ropeDim())));
        rowPhase(Phase.INPUT_NORM);
        projectHidden(call.weights, indexerPart);
        rowPhase(Phase.LATENTS);
        projectQueryLatent(call.weights, indexerPart);
        rowPhase(Phase.HEADS);
        if (call.out.form() == MlaForm.ABSORBED) {
            absorb(call.weights);
        }
    }

    private void rowPhase(Phase next) {
        phase = next;
        int chunks = (rows + ROWS_PER_CHUNK - 1) / ROWS_PER_CHUNK;
        if (chunks == 1) {
            run(0, 0);
        } else {
            pool.run(this, chunks);
        }
    }

    private void projectHidden(MlaWeights w, @Nullable IndexerProlog indexerPart) {
        long row = w.shape().hiddenSize() * 4L;
        linear.clear();
        linear.addPadded(w.qA(), hidden, row, rows, queryLatent);
        linear.addPadded(w.kvA(), hidden, row, rows, keyLatent);
        if (indexerPart != null) {
            IndexerWeights i = indexerPart.weights();
            linear.addPadded(i.key(), hidden, row, rows, indexKey);
            long headWeights = Lanes.address(indexerPart.headWeights());
            linear.add(i.headWeights(), hidden, row, rows, headWeights, i.heads() * 4L);
        }
        linear.run(pool);
    }

    private void projectQueryLatent(MlaWeights w, @Nullable IndexerProlog indexerPart) {
        long row = Lanes.padded(w.shape().qLoraRank()) * 4L;
        linear.clear();
        linear.addPadded(w.qB(), queryLatent, row, rows, heads);
        if (indexerPart != null) {
            IndexerWeights i = indexerPart.weights();
            long query = Lanes.address(indexerPart.query());
            linear.add(i.queryB(), queryLatent, row, rows, query, (long) i.heads() * i.headDim() * 4);
        }
        linear.run(pool);
    }

    private void absorb(MlaWeights w) {
        MlaShape s = w.shape();
        int headRow = s.nopeDim() + s.ropeDim();
        long row = Lanes.padded(s.heads() * headRow) * 4L;
        long queryRow = s.queryRow(MlaForm.ABSORBED) * 4L;
        linear.clear();
        for (int h = 0; h < s.heads(); h++) {
            long from = heads + (long) h * headRow * 4;
            linear.add(w.keyAbsorb().get(h), from, row, rows, out + h * queryRow, s.heads() * queryRow);
        }
        linear.run(pool);
    }

    @Override
    public void run(int chunk, int worker) {
        MlaWeights w = weights;
        RowBatch b = batch;
        RopeRows r = rope;
        AttentionRows t = target;
        if (w == null || b == null || r == null || t == null) {
            throw new IllegalStateException("prolog rows before a call");
        }
        int end = Math.min(rows, (chunk + 1) * ROWS_PER_CHUNK);
        for (int row = chunk * ROWS_PER_CHUNK; row < end; row++) {
            switch (phase) {
                case INPUT_NORM -> inputNorm(w, row);
                case LATENTS -> latents(w, b, r, t, row);
                case HEADS -> splitHeads(w.shape(), r, t.form(), row);
            }
        }
    }

    private void inputNorm(MlaWeights w, int row) {
        MlaShape s = w.shape();
        long at = (long) row * s.hiddenSize() * 4;
        RowMath.rmsNorm(x + at, Lanes.address(w.inputNorm()), s.hiddenSize(), s.rmsEps(), hidden + at);
    }

    private void latents(MlaWeights w, RowBatch b, RopeRows r, AttentionRows t, int row) {
        MlaShape s = w.shape();
        long query = queryLatent + (long) row * Lanes.padded(s.qLoraRank()) * 4;
        RowMath.rmsNorm(query, Lanes.address(w.qANorm()), s.qLoraRank(), s.latentRmsEps(), query);
        long key = keyLatent + (long) row * Lanes.padded(s.cacheRow()) * 4;
        RowMath.rmsNorm(key, Lanes.address(w.kvANorm()), s.kvLoraRank(), s.latentRmsEps(), key);
        RowMath.rotate(key + s.kvLoraRank() * 4L, s.ropeStyle(), s.ropeDim(), cos(r, row), sin(r, row));
        RowMath.write(t.latent(), b.pages(row), b.slot(row), key);
        IndexerProlog i = indexer;
        if (i != null) {
            IndexerWeights iw = i.weights();
            long indexRow = indexKey + (long) row * Lanes.padded(iw.headDim()) * 4;
            long gain = Lanes.address(iw.keyNormGain());
            long bias = Lanes.address(iw.keyNormBias());
            RowMath.layerNorm(indexRow, gain, bias, iw.headDim(), IndexerWeights.KEY_NORM_EPS);
            RowMath.rotate(indexRow, iw.ropeStyle(), r.ropeDim(), cos(r, row), sin(r, row));
            RowMath.write(i.keys(), b.pages(row), b.slot(row), indexRow);
            long headWeights = Lanes.address(i.headWeights()) + (long) row * iw.heads() * 4;
            float scale = (float) (1 / Math.sqrt((double) iw.heads() * iw.headDim()));
            RowMath.scale(headWeights, scale, iw.heads(), headWeights);
        }
    }

    private void splitHeads(MlaShape s, RopeRows r, MlaForm form, int row) {
        int headRow = s.nopeDim() + s.ropeDim();
        int queryRow = s.queryRow(form);
        long from = heads + (long) row * Lanes.padded(s.heads() * headRow) * 4;
        long to = out + (long) row * s.heads() * queryRow * 4;
        for (int h = 0; h < s.heads(); h++) {
            long head = from + (long) h * headRow * 4;
            long turned = head + s.nopeDim() * 4L;
            RowMath.rotate(turned, s.ropeStyle(), s.ropeDim(), cos(r, row), sin(r, row));
            long query = to + (long) h * queryRow * 4;
            switch (form) {
                case ABSORBED -> Lanes.copy(turned, query + s.kvLoraRank() * 4L, s.ropeDim() * 4L);
                case NAIVE -> Lanes.copy(head, query, headRow * 4L);
            }
        }
        IndexerProlog i = indexer;
        if (i != null) {
            IndexerWeights iw = i.weights();
            long query = Lanes.address(i.query()) + (long) row * iw.heads() * iw.headDim() * 4;
            for (int h = 0; h < iw.heads(); h++) {
                long head = query + (long) h * iw.headDim() * 4;
                RowMath.rotate(head, iw.ropeStyle(), r.ropeDim(), cos(r, row), sin(r, row));
            }
        }
    }

    private static long cos(RopeRows rope, int row) {
        return Lanes.address(rope.cos()) + (long) row * (rope.ropeDim() / 2) * 4;
    }

    private static long sin(RopeRows rope, int row) {
        return Lanes.address(rope.sin()) + (long) row * (rope.ropeDim() / 2) * 4;
    }
}
