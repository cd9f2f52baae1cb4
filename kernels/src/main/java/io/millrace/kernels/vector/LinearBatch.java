package io.millrace.kernels.vector;

import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.pool.KernelPool;
import io.millrace.kernels.pool.PoolTask;
import java.util.Arrays;

/// Several independent matrix products handed to the pool as one run. Chunks are blocks of panels times blocks of rows;
/// their bounds follow from the shapes.
final class LinearBatch implements PoolTask {
    /// Multiply-adds (for at most 8 rows, which stream the weights once) below which a chunk is not worth its hand-off.
    private static final long CHUNK_WORK = 16_384;

    private static final int ROWS_PER_CHUNK = 64;
    private static final int PANELS_PER_TILE = 4;

    private final Scratch scratch;
    private Job[] jobs = new Job[0];
    private int count;
    private int chunks;
    private long work;

    LinearBatch(Scratch scratch) {
        this.scratch = scratch;
    }

    /// Forgets the products of the last run.
    void clear() {
        count = 0;
        chunks = 0;
        work = 0;
    }

    /// Adds `y = x Wᵀ` with contiguous x rows `xRow` bytes apart; y rows are `yRow` bytes apart and may end exactly
    /// after the last output.
    void add(PackedMatrix weights, long x, long xRow, int rows, long y, long yRow) {
        Job job = next(weights, x, xRow, rows);
        if (weights.outFeatures() % Lanes.COUNT == 0) {
            job.product.into(y, yRow);
            job.copies = false;
        } else {
            int width = Lanes.padded(weights.outFeatures());
            job.product.into(job.padded.floats((long) rows * width), width * 4L);
            job.copies = true;
            job.y = y;
            job.yRow = yRow;
        }
    }

    /// As `add`, for y rows with room for whole panels.
    void addPadded(PackedMatrix weights, long x, long xRow, int rows, long y) {
        Job job = next(weights, x, xRow, rows);
        job.product.into(y, Lanes.padded(weights.outFeatures()) * 4L);
        job.copies = false;
    }

    private Job next(PackedMatrix weights, long x, long xRow, int rows) {
        if (count == jobs.length) {
            jobs = Arrays.copyOf(jobs, Math.max(4, 2 * count));
            for (int i = count; i < jobs.length; i++) {
                jobs[i] = new Job(scratch.buffer());
            }
        }
        Job job = jobs[count++];
        job.product.weights(weights);
        job.product.rows(x, xRow, rows);
        long perPanel = (long) Lanes.COUNT * weights.inFeatures() * Math.min(rows, 8);
        long wanted = Math.max(1, CHUNK_WORK / perPanel);
        job.panelsPerChunk = (int) ((wanted + PANELS_PER_TILE - 1) / PANELS_PER_TILE) * PANELS_PER_TILE;
        job.panelBlocks = (job.product.panels() + job.panelsPerChunk - 1) / job.panelsPerChunk;
        job.firstChunk = chunks;
        chunks += job.panelBlocks * ((rows + ROWS_PER_CHUNK - 1) / ROWS_PER_CHUNK);
        work += perPanel * job.product.panels() * ((rows + 7) / 8);
        return job;
    }

    /// Computes all products.
    void run(KernelPool pool) {
        if (work <= 2 * CHUNK_WORK) {
            for (int chunk = 0; chunk < chunks; chunk++) {
                run(chunk, 0);
            }
        } else {
            pool.run(this, chunks);
        }
    }

    @Override
    public void run(int chunk, int worker) {
        int low = 0;
        int high = count - 1;
        while (low < high) {
            int middle = (low + high + 1) >>> 1;
            if (jobs[middle].firstChunk <= chunk) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        jobs[low].run(chunk - jobs[low].firstChunk);
    }

    private static final class Job {
        private final Product product = new Product();
        private final Scratch.Buffer padded;
        private int panelsPerChunk;
        private int panelBlocks;
        private int firstChunk;
        private boolean copies;
        private long y;
        private long yRow;

        Job(Scratch.Buffer padded) {
            this.padded = padded;
        }

        private void run(int chunk) {
            int rowFrom = chunk / panelBlocks * ROWS_PER_CHUNK;
            int rowEnd = Math.min(rowFrom + ROWS_PER_CHUNK, product.rows);
            int panelFrom = chunk % panelBlocks * panelsPerChunk;
            int panelEnd = Math.min(panelFrom + panelsPerChunk, product.panels());
            product.compute(rowFrom, rowEnd, panelFrom, panelEnd);
            if (copies) {
                long at = (long) panelFrom * Lanes.BYTES;
                long bytes = Math.min(panelEnd * Lanes.COUNT, product.outputs) * 4L - at;
                for (int row = rowFrom; row < rowEnd; row++) {
                    Lanes.copy(product.y + row * product.yRow + at, y + row * yRow + at, bytes);
                }
            }
        }
    }
}
