package io.millrace.kernels.vector;

import io.millrace.kernels.AttentionRows;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.MlaWeights;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.Selection;
import io.millrace.kernels.pool.KernelPool;
import io.millrace.kernels.pool.PoolTask;
import org.jspecify.annotations.Nullable;

/// Sparse attention: each row over its own selected slots.
///
/// The ascending list of a row's slots is cut into tiles of 64 consecutive ranks and runs of 8 tiles. A run is one
/// chunk: it gathers and widens each tile once and folds it into the softmax state of the run. The runs of a row are
/// then merged in ascending order. So the result follows from the list alone, whether one thread computed a row or
/// many did. In the absorbed form all heads share the latent as key and value, and W_UV is applied last, as one
/// product per head over all rows; in the naive form a tile's keys and values are expanded head by head.
final class AttentionRuns implements PoolTask {
    static final int TILE = 64;
    private static final int TILES_PER_RUN = 8;
    private static final int RUN = TILE * TILES_PER_RUN;

    /// Floats of softmax states held at once.
    private static final long STATE_FLOATS = 4L << 20;

    private final KernelPool pool;
    private final LinearBatch linear;
    private final Scratch.Buffer stateBuffer;
    private final Scratch.Buffer latentBuffer;
    private final AttentionWorker[] workers;

    private int[] runStarts = new int[0];
    private int firstRow;
    private int endRow;
    private boolean merging;
    private long runFloats;
    private long states;
    private long out;
    private @Nullable Call call;

    AttentionRuns(KernelPool pool, LinearBatch linear, Scratch scratch) {
        this.pool = pool;
        this.linear = linear;
        this.stateBuffer = scratch.buffer();
        this.latentBuffer = scratch.buffer();
        this.workers = new AttentionWorker[pool.threads()];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new AttentionWorker(scratch);
        }
    }

    /// What a call is about.
    record Call(MlaWeights weights, AttentionRows input, RowBatch batch, Selection selection) {
        /// Elements of a head's weighted sum: the latent, or in the naive form its value.
        int valueWidth() {
            MlaShape s = weights.shape();
            return input.form() == MlaForm.ABSORBED ? s.kvLoraRank() : s.vDim();
        }
    }

    void run(Call next, long y) {
        call = next;
        MlaShape s = next.weights.shape();
        int rows = next.batch.rows();
        boolean absorbed = next.input.form() == MlaForm.ABSORBED;
        int width = next.valueWidth();
        out = absorbed ? latentBuffer.floats((long) rows * s.heads() * width) : y;
        runFloats = AttentionWorker.stateFloats(next);
        for (AttentionWorker worker : workers) {
            worker.reserve(next);
        }
        if (runStarts.length <= rows) {
            runStarts = new int[next.batch.maxRows() + 1];
        }
        firstRow = 0;
        while (firstRow < rows) {
            pass(next.selection, rows);
            firstRow = endRow;
        }
        if (absorbed) {
            long head = width * 4L;
            long valueHead = s.vDim() * 4L;
            linear.clear();
            for (int h = 0; h < s.heads(); h++) {
                long from = out + h * head;
                linear.add(
                        next.weights.valueUp().get(h),
                        from,
                        s.heads() * head,
                        rows,
                        y + h * valueHead,
                        s.heads() * valueHead);
            }
            linear.run(pool);
        }
    }

    private void pass(Selection selection, int rows) {
        long limit = Math.max(1, STATE_FLOATS / runFloats);
        boolean several = false;
        runStarts[firstRow] = 0;
        endRow = firstRow;
        while (endRow < rows) {
            int runs = (selection.count(endRow) + RUN - 1) / RUN;
            if (endRow > firstRow && runStarts[endRow] + runs > limit) {
                break;
            }
            several |= runs > 1;
            runStarts[endRow + 1] = runStarts[endRow] + runs;
            endRow++;
        }
        states = stateBuffer.floats(runStarts[endRow] * runFloats);
        merging = false;
        pool.run(this, runStarts[endRow]);
        if (several) {
            merging = true;
            pool.run(this, endRow - firstRow);
        }
    }

    @Override
    public void run(int chunk, int worker) {
        Call c = call;
        if (c == null) {
            throw new IllegalStateException("attention runs before a call");
        }
        if (merging) {
            merge(c, firstRow + chunk);
            return;
        }
        int row = row(chunk);
        int from = (chunk - runStarts[row]) * RUN;
        int end = Math.min(from + RUN, c.selection.count(row));
        long state = states + chunk * runFloats * 4;
        workers[worker].attend(c, row, from, end, state);
        if (runStarts[row + 1] - runStarts[row] == 1) {
            finish(c, row, state);
        }
    }

    private int row(int chunk) {
        int low = firstRow;
        int high = endRow - 1;
        while (low < high) {
            int middle = (low + high + 1) >>> 1;
            if (runStarts[middle] <= chunk) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }

    private void merge(Call c, int row) {
        int runs = runStarts[row + 1] - runStarts[row];
        if (runs < 2) {
            return;
        }
        long state = states + runStarts[row] * runFloats * 4;
        for (int run = 1; run < runs; run++) {
            AttentionWorker.merge(c, state, state + run * runFloats * 4);
        }
        finish(c, row, state);
    }

    private void finish(Call c, int row, long state) {
        long rowBytes = (long) c.weights.shape().heads() * c.valueWidth() * 4;
        AttentionWorker.finish(c, state, out + row * rowBytes);
    }
}
