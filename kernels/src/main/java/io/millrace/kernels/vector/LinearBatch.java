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

    /// Activations below which rounding is not worth its hand-off.
    private static final long INLINE_ELEMENTS = 16_384;

    private static final int ROWS_PER_ROUNDING = 4;

    private final Scratch scratch;
    private final IntegerTiles[] tiles;
    // A task of its own: in one method, both would exceed the compiler's inlining budget and box vectors.
    private final PoolTask roundings = this::round;
    private Job[] jobs = new Job[0];
    private int count;
    private int chunks;
    private long work;
    private int roundingChunks;
    private long roundingElements;

    LinearBatch(KernelPool pool, Scratch scratch) {
        this.scratch = scratch;
        this.tiles = new IntegerTiles[pool.threads()];
        for (int i = 0; i < tiles.length; i++) {
            tiles[i] = new IntegerTiles(scratch);
        }
    }

    /// Forgets the products of the last run.
    void clear() {
        count = 0;
        chunks = 0;
        work = 0;
        roundingChunks = 0;
        roundingElements = 0;
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
                jobs[i] = new Job(scratch.buffer(), new RoundedRows(scratch.buffer()));
            }
        }
        Job job = jobs[count];
        job.product.weights(weights);
        job.rounds = false;
        job.firstRounding = roundingChunks;
        if (weights.format().isInteger()) {
            roundRows(job, weights, x, xRow, rows);
        } else {
            job.product.rows(x, xRow, rows);
        }
        long perPanel = (long) Lanes.COUNT * weights.inFeatures() * Math.min(rows, 8);
        long wanted = Math.max(1, CHUNK_WORK / perPanel);
        job.panelsPerChunk = (int) ((wanted + PANELS_PER_TILE - 1) / PANELS_PER_TILE) * PANELS_PER_TILE;
        job.panelBlocks = (job.product.panels() + job.panelsPerChunk - 1) / job.panelsPerChunk;
        job.firstChunk = chunks;
        chunks += job.panelBlocks * ((rows + ROWS_PER_CHUNK - 1) / ROWS_PER_CHUNK);
        work += perPanel * job.product.panels() * ((rows + 7) / 8);
        count++;
        return job;
    }

    /// Takes rounded rows of an earlier product or plans to round them.
    private void roundRows(Job job, PackedMatrix weights, long x, long xRow, int rows) {
        for (IntegerTiles each : tiles) {
            each.reserve(weights);
        }
        for (int i = 0; i < count; i++) {
            if (jobs[i].rounds && jobs[i].rounded.serves(weights, x, xRow, rows)) {
                job.rounds = false;
                job.product.rows(jobs[i].rounded);
                return;
            }
        }
        job.rounds = true;
        job.rounded.take(weights, x, xRow, rows);
        job.product.rows(job.rounded);
        roundingChunks += (rows + ROWS_PER_ROUNDING - 1) / ROWS_PER_ROUNDING;
        roundingElements += (long) rows * weights.inFeatures();
    }

    /// Computes all products.
    void run(KernelPool pool) {
        if (roundingElements <= INLINE_ELEMENTS) {
            for (int chunk = 0; chunk < roundingChunks; chunk++) {
                round(chunk, 0);
            }
        } else {
            pool.run(roundings, roundingChunks);
        }
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
        jobs[low].run(chunk - jobs[low].firstChunk, tiles[worker]);
    }

    private void round(int chunk, int worker) {
        int at = count - 1;
        while (!jobs[at].rounds || jobs[at].firstRounding > chunk) {
            at--;
        }
        RoundedRows rounded = jobs[at].rounded;
        int from = (chunk - jobs[at].firstRounding) * ROWS_PER_ROUNDING;
        rounded.round(from, Math.min(from + ROWS_PER_ROUNDING, rounded.rows()));
    }

    private static final class Job {
        private final Product product = new Product();
        private final Scratch.Buffer padded;
        private final RoundedRows rounded;
        private boolean rounds;
        private int firstRounding;
        private int panelsPerChunk;
        private int panelBlocks;
        private int firstChunk;
        private boolean copies;
        private long y;
        private long yRow;

        Job(Scratch.Buffer padded, RoundedRows rounded) {
            this.padded = padded;
            this.rounded = rounded;
        }

        private void run(int chunk, IntegerTiles tiles) {
            int rowFrom = chunk / panelBlocks * ROWS_PER_CHUNK;
            int rowEnd = Math.min(rowFrom + ROWS_PER_CHUNK, product.rows);
            int panelFrom = chunk % panelBlocks * panelsPerChunk;
            int panelEnd = Math.min(panelFrom + panelsPerChunk, product.panels());
            tiles.compute(product, rowFrom, rowEnd, panelFrom, panelEnd);
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
