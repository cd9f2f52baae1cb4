package io.millrace.kernels.vector;

import io.millrace.kernels.pool.KernelPool;
import io.millrace.kernels.pool.PoolTask;

/// RMS norm and addition over many rows.
final class ElementRows implements PoolTask {
    private static final int INLINE_ELEMENTS = 8192;
    private static final int ADD_BLOCK = 4096;

    private final KernelPool pool;
    private boolean norm;
    private int width;
    private long elements;
    private float eps;
    private long x;
    private long y;
    private long gain;

    ElementRows(KernelPool pool) {
        this.pool = pool;
    }

    void rmsNorm(long from, long gains, int rowWidth, int rows, float epsilon) {
        norm = true;
        x = from;
        gain = gains;
        width = rowWidth;
        eps = epsilon;
        spread((long) rows * rowWidth, rows);
    }

    void add(long from, long to, long count) {
        norm = false;
        x = from;
        y = to;
        elements = count;
        spread(count, Math.toIntExact((count + ADD_BLOCK - 1) / ADD_BLOCK));
    }

    /// Sets where norms go.
    ElementRows into(long to) {
        y = to;
        return this;
    }

    private void spread(long work, int chunks) {
        if (work <= INLINE_ELEMENTS) {
            for (int chunk = 0; chunk < chunks; chunk++) {
                run(chunk, 0);
            }
        } else {
            pool.run(this, chunks);
        }
    }

    @Override
    public void run(int chunk, int worker) {
        if (norm) {
            long at = (long) chunk * width * 4;
            RowMath.rmsNorm(x + at, gain, width, eps, y + at);
        } else {
            long at = (long) chunk * ADD_BLOCK;
            RowMath.add(x + at * 4, y + at * 4, (int) Math.min(ADD_BLOCK, elements - at));
        }
    }
}
