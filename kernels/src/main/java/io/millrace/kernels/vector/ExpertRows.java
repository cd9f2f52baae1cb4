package io.millrace.kernels.vector;

import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.MoeWeights;
import io.millrace.kernels.gating.ExpertRouting;
import io.millrace.kernels.pool.KernelPool;
import io.millrace.kernels.pool.PoolTask;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/// A mixture-of-experts feed-forward. The rows are grouped by expert; a chunk is up to 32 rows of one
/// expert, which it takes through the whole feed-forward; the shared expert is one more expert with all
/// rows. Then every row adds up its experts' outputs in ascending order, the shared one last.
final class ExpertRows implements PoolTask {
    private static final int ROWS_PER_CHUNK = 32;
    private static final int ROWS_PER_SUM = 8;

    private final KernelPool pool;
    private final LinearBatch linear;
    private final Scratch.Buffer logitBuffer;
    private final Scratch.Buffer outputBuffer;
    private final Worker[] workers;
    private final ExpertRouting routing = new ExpertRouting();
    // A task of its own: in one method, both would exceed the compiler's inlining budget and box vectors.
    private final PoolTask sums = this::sum;

    private int[] chunkExperts = new int[0];
    private int[] chunkPlaces = new int[0];
    private int rows;
    private int hidden;
    private int outputWidth;
    private long x;
    private long y;
    private long outputs;
    private @Nullable MoeWeights weights;

    ExpertRows(KernelPool pool, LinearBatch linear, Scratch scratch) {
        this.pool = pool;
        this.linear = linear;
        this.logitBuffer = scratch.buffer();
        this.outputBuffer = scratch.buffer();
        this.workers = new Worker[pool.threads()];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Worker(scratch);
        }
    }

    void run(MoeWeights moe, long from, int rowCount, long to) {
        weights = moe;
        rows = rowCount;
        x = from;
        y = to;
        hidden = moe.gate().inFeatures();
        outputWidth = Lanes.padded(hidden);
        int experts = moe.gating().experts();
        int stride = Lanes.padded(experts);
        long logits = logitBuffer.floats((long) rows * stride);
        linear.clear();
        linear.addPadded(moe.gate(), x, hidden * 4L, rows, logits);
        linear.run(pool);
        Exponential.sigmoid(logits, rows * stride);
        float[] scores = routing.scores(moe.gating(), rows);
        for (int row = 0; row < rows; row++) {
            copy(logits + (long) row * stride * 4, scores, row * experts, experts);
        }
        copy(Lanes.address(moe.correctionBias()), routing.bias(moe.gating()), 0, experts);
        routing.route(moe.gating(), rows);
        int pairs = routing.start(experts);
        outputs = outputBuffer.floats((long) (pairs + rows) * outputWidth);
        reserve(moe);
        pool.run(this, planChunks(experts, pairs));
        pool.run(sums, (rows + ROWS_PER_SUM - 1) / ROWS_PER_SUM);
    }

    private static void copy(long from, float[] to, int at, int count) {
        for (int i = 0; i < count; i++) {
            to[at + i] = Lanes.get(from + i * 4L);
        }
    }

    /// Makes room for any chunk of a mixture in the scratch of every worker.
    private void reserve(MoeWeights moe) {
        long widest = Worker.widthFloats(moe.shared());
        for (int e = 0; e < moe.gating().experts(); e++) {
            widest = Math.max(widest, Worker.widthFloats(moe.experts().get(e)));
        }
        for (Worker worker : workers) {
            worker.rowBuffer.reserve((long) ROWS_PER_CHUNK * hidden);
            worker.widthBuffer.reserve(widest);
            worker.reserve(moe.shared());
            for (int e = 0; e < moe.gating().experts(); e++) {
                worker.reserve(moe.experts().get(e));
            }
        }
    }

    /// Lists the chunks: expert and first place. The shared expert's places follow those of the routed
    /// ones and, as the longest, its chunks go first.
    private int planChunks(int experts, int pairs) {
        int most = experts + (pairs + rows) / ROWS_PER_CHUNK + 2;
        if (chunkExperts.length < most) {
            chunkExperts = Arrays.copyOf(chunkExperts, most);
            chunkPlaces = Arrays.copyOf(chunkPlaces, most);
        }
        int chunks = 0;
        for (int at = pairs; at < pairs + rows; at += ROWS_PER_CHUNK) {
            chunkExperts[chunks] = experts;
            chunkPlaces[chunks++] = at;
        }
        for (int e = 0; e < experts; e++) {
            for (int at = routing.start(e); at < routing.start(e + 1); at += ROWS_PER_CHUNK) {
                chunkExperts[chunks] = e;
                chunkPlaces[chunks++] = at;
            }
        }
        return chunks;
    }

    @Override
    public void run(int chunk, int worker) {
        MoeWeights moe = called();
        int experts = moe.gating().experts();
        int expert = chunkExperts[chunk];
        int place = chunkPlaces[chunk];
        int pairs = routing.start(experts);
        long to = outputs + (long) place * outputWidth * 4;
        long rowBytes = hidden * 4L;
        if (expert == experts) {
            int count = Math.min(ROWS_PER_CHUNK, pairs + rows - place);
            workers[worker].run(moe.shared(), x + (place - pairs) * rowBytes, count, to);
        } else {
            int count = Math.min(ROWS_PER_CHUNK, routing.start(expert + 1) - place);
            long gathered = workers[worker].rowBuffer.floats((long) ROWS_PER_CHUNK * hidden);
            for (int i = 0; i < count; i++) {
                Lanes.copy(x + routing.row(place + i) * rowBytes, gathered + i * rowBytes, rowBytes);
            }
            workers[worker].run(moe.experts().get(expert), gathered, count, to);
        }
    }

    private MoeWeights called() {
        MoeWeights moe = weights;
        if (moe == null) {
            throw new IllegalStateException("expert rows before a call");
        }
        return moe;
    }

    private void sum(int chunk, int worker) {
        MoeWeights moe = called();
        int end = Math.min(rows, (chunk + 1) * ROWS_PER_SUM);
        for (int row = chunk * ROWS_PER_SUM; row < end; row++) {
            sum(moe, row);
        }
    }

    private void sum(MoeWeights moe, int row) {
        int topK = moe.gating().topK();
        long to = y + (long) row * hidden * 4;
        RowMath.scale(output(routing.place(row, 0)), routing.weight(row, 0), hidden, to);
        for (int k = 1; k < topK; k++) {
            RowMath.accumulate(output(routing.place(row, k)), routing.weight(row, k), to, hidden);
        }
        RowMath.add(output(routing.start(moe.gating().experts()) + row), to, hidden);
    }

    private long output(int place) {
        return outputs + (long) place * outputWidth * 4;
    }

    /// Scratch and products of one thread.
    private static final class Worker {
        private final WeightProduct product;
        private final Scratch.Buffer rowBuffer;
        private final Scratch.Buffer widthBuffer;

        Worker(Scratch scratch) {
            product = new WeightProduct(scratch);
            rowBuffer = scratch.buffer();
            widthBuffer = scratch.buffer();
        }

        /// Gate and up projections of a chunk.
        private static long widthFloats(GatedMlpWeights expert) {
            return 2L * ROWS_PER_CHUNK * Lanes.padded(expert.gate().outFeatures());
        }

        private void reserve(GatedMlpWeights expert) {
            product.reserve(expert.gate(), ROWS_PER_CHUNK);
            product.reserve(expert.up(), ROWS_PER_CHUNK);
            product.reserve(expert.down(), ROWS_PER_CHUNK);
        }

        private void run(GatedMlpWeights expert, long from, int count, long to) {
            int width = Lanes.padded(expert.gate().outFeatures());
            long gate = widthBuffer.floats(widthFloats(expert));
            long up = gate + (long) count * width * 4;
            WeightProduct.Rows x = new WeightProduct.Rows(from, expert.gate().inFeatures() * 4L, count);
            WeightProduct.Rows inner = new WeightProduct.Rows(gate, width * 4L, count);
            product.renew();
            product.compute(expert.gate(), x, inner);
            product.compute(expert.up(), x, new WeightProduct.Rows(up, width * 4L, count));
            Exponential.swiglu(gate, up, count * width);
            for (int row = 0; row < count; row++) {
                Rotation.rotate(gate + (long) row * width * 4, expert.gate().outFeatures(), expert.rotation());
            }
            long outRow = Lanes.padded(expert.down().outFeatures()) * 4L;
            product.renew();
            product.compute(expert.down(), inner, new WeightProduct.Rows(to, outRow, count));
        }
    }
}
