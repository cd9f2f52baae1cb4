package io.millrace.kernels.vector;

import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.pool.KernelPool;
import io.millrace.kernels.pool.PoolTask;

/// A dense SwiGLU feed-forward over all threads: both up projections, the nonlinearity and the
/// rotation, the down projection.
final class FeedForward implements PoolTask {
    private static final int INLINE_ELEMENTS = 4096;

    private final KernelPool pool;
    private final LinearBatch linear;
    private final Scratch.Buffer buffer;
    private int width;
    private int inner;
    private int rotation;
    private long gate;
    private long up;

    FeedForward(KernelPool pool, LinearBatch linear, Scratch scratch) {
        this.pool = pool;
        this.linear = linear;
        this.buffer = scratch.buffer();
    }

    void run(GatedMlpWeights weights, long x, int rows, long y) {
        int hidden = weights.down().outFeatures();
        width = Lanes.padded(weights.gate().outFeatures());
        inner = weights.gate().outFeatures();
        rotation = weights.rotation();
        gate = buffer.floats(2L * rows * width);
        up = gate + (long) rows * width * 4;
        linear.clear();
        linear.addPadded(weights.gate(), x, hidden * 4L, rows, gate);
        linear.addPadded(weights.up(), x, hidden * 4L, rows, up);
        linear.run(pool);
        if ((long) rows * width <= INLINE_ELEMENTS) {
            for (int row = 0; row < rows; row++) {
                run(row, 0);
            }
        } else {
            pool.run(this, rows);
        }
        linear.clear();
        linear.add(weights.down(), gate, width * 4L, rows, y, hidden * 4L);
        linear.run(pool);
    }

    @Override
    public void run(int row, int worker) {
        long at = (long) row * width * 4;
        Exponential.swiglu(gate + at, up + at, width);
        Rotation.rotate(gate + at, inner, rotation);
    }
}
