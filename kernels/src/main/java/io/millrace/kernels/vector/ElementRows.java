package io.millrace.kernels.vector;

import io.millrace.kernels.pool.KernelPool;
import io.millrace.kernels.pool.PoolTask;

/// RMS norm, rotation and addition over many rows.
final class ElementRows implements PoolTask {
    private static final int INLINE_ELEMENTS = 8192;
    private static final int ADD_BLOCK = 4096;

    private enum Operation {
        NORM,
        ROTATE,
        ADD
    }

    private final KernelPool pool;
    private Operation operation = Operation.ADD;
    private int block;
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
        operation = Operation.NORM;
        x = from;
        gain = gains;
        width = rowWidth;
        eps = epsilon;
        spread((long) rows * rowWidth, rows);
    }

    void add(long from, long to, long count) {
        operation = Operation.ADD;
        x = from;
        y = to;
        elements = count;
        spread(count, Math.toIntExact((count + ADD_BLOCK - 1) / ADD_BLOCK));
    }

    /// Rotates rows and multiplies them by `scale`.
    void rotate(long from, int blockSize, long scale, int rowWidth, int rows) {
        operation = Operation.ROTATE;
        x = from;
        gain = scale;
        width = rowWidth;
        block = blockSize;
        spread((long) rows * rowWidth, rows);
    }

    /// Sets where norms and rotated rows go.
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
        long at = (long) chunk * width * 4;
        switch (operation) {
            case NORM -> RowMath.rmsNorm(x + at, gain, width, eps, y + at);
            case ROTATE -> Rotation.rotate(x + at, width, block, gain, y + at);
            case ADD -> {
                long from = (long) chunk * ADD_BLOCK;
                RowMath.add(x + from * 4, y + from * 4, (int) Math.min(ADD_BLOCK, elements - from));
            }
        }
    }
}
