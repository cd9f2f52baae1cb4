package io.millrace.kernels.vector;

import io.millrace.kernels.IndexerProlog;
import io.millrace.kernels.IndexerWeights;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.PagedRows;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.RowQuantization;
import io.millrace.kernels.Selection;
import io.millrace.kernels.pool.KernelPool;
import io.millrace.kernels.pool.PoolTask;
import jdk.incubator.vector.FloatVector;
import org.jspecify.annotations.Nullable;

/// The lightning indexer: scores of every visible slot, then the best of them.
///
/// A row's index queries are laid out with the heads in lanes, so the dot products of all heads with one key are one
/// chain of fused multiply-adds per head; ReLU and the head weights follow in the lanes, and one written tree adds the
/// heads up. Only one float per row and visible slot is kept. Keys are read page by page. A chunk is one row's share
/// of some pages; every score depends on its row and its key alone.
final class IndexerRows implements PoolTask {
    private static final int PAGES_PER_CHUNK = 16;
    /// Elements of the longest dot product of codes that is exact in float32.
    private static final int EXACT = 1024;

    private static final int TOKENS = PagedRows.PAGE_TOKENS;

    /// Scores held at once, over all rows of a pass.
    private static final long SCORES_PER_PASS = 4L << 20;

    private final KernelPool pool;
    private final Scratch.Buffer scoreBuffer;
    private final Worker[] workers;

    private int[] chunkStarts = new int[0];
    private long[] scoreStarts = new long[0];
    private int[] scoredRows = new int[0];
    private int scored;
    private boolean choosing;
    private @Nullable IndexerProlog indexer;
    private @Nullable RowBatch batch;
    private @Nullable Selection selection;

    IndexerRows(KernelPool pool, Scratch scratch) {
        this.pool = pool;
        this.scoreBuffer = scratch.buffer();
        this.workers = new Worker[pool.threads()];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Worker(scratch);
        }
    }

    void run(IndexerProlog prolog, RowBatch rows, Selection chosen) {
        int dim = prolog.weights().headDim();
        if (prolog.keys().format() == KvFormat.INT8 && dim > EXACT) {
            throw new IllegalArgumentException("index head: " + dim + " elements (expected: at most " + EXACT
                    + " with INT8 keys and the vector provider)");
        }
        indexer = prolog;
        batch = rows;
        selection = chosen;
        chosen.firstSlot(rows.firstSlot());
        if (chunkStarts.length <= rows.rows()) {
            chunkStarts = new int[rows.maxRows() + 1];
            scoreStarts = new long[rows.maxRows() + 1];
            scoredRows = new int[rows.maxRows()];
        }
        for (Worker worker : workers) {
            worker.reserve(prolog.weights(), prolog.keys().format());
        }
        int topK = prolog.weights().topK();
        scored = 0;
        scoreStarts[0] = 0;
        for (int row = 0; row < rows.rows(); row++) {
            int visible = rows.visible(row);
            if (visible <= topK) {
                chosen.selectAll(row, visible);
                continue;
            }
            if (scored > 0 && scoreStarts[scored] + visible > SCORES_PER_PASS) {
                pass();
            }
            int pages = rows.slot(row) / TOKENS + 1;
            scoredRows[scored] = row;
            chunkStarts[scored + 1] = chunkStarts[scored] + (pages + PAGES_PER_CHUNK - 1) / PAGES_PER_CHUNK;
            scoreStarts[scored + 1] = scoreStarts[scored] + visible;
            scored++;
        }
        if (scored > 0) {
            pass();
        }
    }

    private void pass() {
        scoreBuffer.floats(scoreStarts[scored]);
        choosing = false;
        pool.run(this, chunkStarts[scored]);
        choosing = true;
        pool.run(this, scored);
        scored = 0;
    }

    @Override
    public void run(int chunk, int worker) {
        IndexerProlog i = indexer;
        RowBatch b = batch;
        Selection s = selection;
        if (i == null || b == null || s == null) {
            throw new IllegalStateException("indexer rows before a call");
        }
        if (choosing) {
            int row = scoredRows[chunk];
            TopSlots top = workers[worker].top;
            int topK = i.weights().topK();
            top.choose(scores(chunk), b.visible(row), topK, b.firstSlot());
            s.select(row, top.slots(), topK);
            return;
        }
        int at = scored - 1;
        while (chunkStarts[at] > chunk) {
            at--;
        }
        int row = scoredRows[at];
        int from = Math.max(b.firstSlot(), (chunk - chunkStarts[at]) * PAGES_PER_CHUNK * TOKENS);
        int end = Math.min(b.slot(row) + 1, (chunk - chunkStarts[at] + 1) * PAGES_PER_CHUNK * TOKENS);
        workers[worker].score(i, b, row, from, end, scores(at));
    }

    private long scores(int index) {
        return scoreBuffer.floats(scoreStarts[scored]) + scoreStarts[index] * 4;
    }

    /// Scratch and loops of one thread.
    static final class Worker {
        private final TopSlots top = new TopSlots();
        private final Product product = new Product();
        private final Scratch.Buffer queryBuffer;
        private final Scratch.Buffer keyBuffer;
        private final Scratch.Buffer dotBuffer;
        private final Scratch.Buffer roundedBuffer;

        Worker(Scratch scratch) {
            queryBuffer = scratch.buffer();
            keyBuffer = scratch.buffer();
            dotBuffer = scratch.buffer();
            roundedBuffer = scratch.buffer();
        }

        private void reserve(IndexerWeights w, KvFormat format) {
            queryBuffer.reserve(queryFloats(w));
            keyBuffer.reserve((long) TOKENS * w.headDim());
            dotBuffer.reserve((long) TOKENS * Lanes.padded(w.heads()));
            if (format == KvFormat.INT8) {
                roundedBuffer.reserve(roundedFloats(w));
            }
        }

        /// Rounded queries and their weights as they come, head by head.
        private static long roundedFloats(IndexerWeights w) {
            return w.heads() * (w.headDim() + 1L);
        }

        /// The queries and one row of head weights.
        private static long queryFloats(IndexerWeights w) {
            return (w.headDim() + 1L) * Lanes.padded(w.heads());
        }

        /// Rounds the query of each head and folds its scale into the head's weight.
        private static void round(IndexerWeights w, long query, long headWeights) {
            for (int h = 0; h < w.heads(); h++) {
                long head = query + (long) h * w.headDim() * 4;
                float largest = RoundedRows.largest(head, w.headDim());
                RoundedRows.codes(head, RowQuantization.inverse(largest), w.headDim(), head);
                long weight = headWeights + h * 4L;
                Lanes.set(weight, Lanes.get(weight) * RowQuantization.scale(largest));
            }
        }

        private void score(IndexerProlog indexer, RowBatch batch, int row, int from, int end, long scores) {
            IndexerWeights w = indexer.weights();
            PagedRows keys = indexer.keys();
            int width = Lanes.padded(w.heads());
            int dim = w.headDim();
            long query = queryBuffer.floats(queryFloats(w));
            long headWeights = query + (long) dim * width * 4;
            long queryRow = Lanes.address(indexer.query()) + (long) row * w.heads() * dim * 4;
            long weightRow = Lanes.address(indexer.headWeights()) + (long) row * w.heads() * 4;
            boolean integers = keys.format() == KvFormat.INT8;
            if (integers) {
                long copy = roundedBuffer.floats(roundedFloats(w));
                long weights = copy + (long) w.heads() * dim * 4;
                Lanes.copy(queryRow, copy, (long) w.heads() * dim * 4);
                Lanes.copy(weightRow, weights, w.heads() * 4L);
                round(w, copy, weights);
                queryRow = copy;
                weightRow = weights;
            }
            HeadLanes.spread(queryRow, w.heads(), dim, query);
            HeadLanes.spread(weightRow, w.heads(), 1, headWeights);
            long tile = keyBuffer.floats((long) TOKENS * dim);
            long dots = dotBuffer.floats((long) TOKENS * width);
            long pool = Lanes.address(keys.pool());
            product.depth = dim;
            product.outputs = width;
            product.w = query;
            product.wStep = Lanes.BYTES;
            product.wPanel = (long) dim * Lanes.BYTES;
            product.into(dots, width * 4L);
            int slot = from;
            while (slot < end) {
                int count = Math.min(end, (slot / TOKENS + 1) * TOKENS) - slot;
                RowMath.read(keys.format(), pool + keys.rowOffset(batch.pages(row), slot), count * dim, tile);
                product.rows(tile, dim * 4L, count);
                product.compute();
                long to = scores + (slot - batch.firstSlot()) * 4L;
                if (integers) {
                    long scales = pool + keys.scaleOffset(batch.pages(row), slot);
                    weighInOrder(dots, headWeights, w.heads(), count, to);
                    scale(scales, count, to);
                } else {
                    weigh(dots, headWeights, width, count, to);
                }
                slot += count;
            }
        }

        /// As the formula for int8 keys has it: one chain over the heads in order. Four keys at a time hide
        /// the latency of the chain.
        private static void weighInOrder(long dots, long headWeights, int heads, int count, long scores) {
            long step = Lanes.padded(heads) * 4L;
            for (int key = 0; key < count; key += 4) {
                long at0 = dots + key * step;
                long at1 = dots + Math.min(key + 1, count - 1) * step;
                long at2 = dots + Math.min(key + 2, count - 1) * step;
                long at3 = dots + Math.min(key + 3, count - 1) * step;
                float sum0 = 0;
                float sum1 = 0;
                float sum2 = 0;
                float sum3 = 0;
                for (int h = 0; h < heads; h++) {
                    float weight = Lanes.get(headWeights + h * 4L);
                    sum0 = Math.fma(weight, Math.max(0, Lanes.get(at0 + h * 4L)), sum0);
                    sum1 = Math.fma(weight, Math.max(0, Lanes.get(at1 + h * 4L)), sum1);
                    sum2 = Math.fma(weight, Math.max(0, Lanes.get(at2 + h * 4L)), sum2);
                    sum3 = Math.fma(weight, Math.max(0, Lanes.get(at3 + h * 4L)), sum3);
                }
                long to = scores + key * 4L;
                Lanes.set(to, sum0);
                if (key + 1 < count) {
                    Lanes.set(to + 4, sum1);
                }
                if (key + 2 < count) {
                    Lanes.set(to + 8, sum2);
                }
                if (key + 3 < count) {
                    Lanes.set(to + 12, sum3);
                }
            }
        }

        private static void scale(long scales, int count, long scores) {
            for (int key = 0; key < count; key++) {
                Lanes.set(scores + key * 4L, Lanes.get(scores + key * 4L) * Lanes.get(scales + key * 4L));
            }
        }

        static void weigh(long dots, long headWeights, int width, int count, long scores) {
            for (int key = 0; key < count; key++) {
                long from = dots + (long) key * width * 4;
                FloatVector sum = Lanes.zero();
                for (int h = 0; h < width; h += Lanes.COUNT) {
                    FloatVector relu = Lanes.load(from + h * 4L).max(0f);
                    sum = relu.fma(Lanes.load(headWeights + h * 4L), sum);
                }
                Lanes.set(scores + key * 4L, Lanes.sum(sum));
            }
        }
    }
}
