package io.millrace.kernels.nativecode;

import io.millrace.kernels.Hadamard;
import io.millrace.kernels.pool.KernelPool;

/// Phases that work row by row on float rows.
final class RowPhases {
    /// Work up to this many elements stays on the caller: handing it over would take longer.
    static final int INLINE_ELEMENTS = 16_384;

    private static final int ADD_WIDTH = 4096;
    private static final int ROW_FIELDS = 9;
    private static final int ROUND_FIELDS = 12;
    private static final int INNER_FIELDS = 15;

    private final KernelPool pool;
    private final Phase norm;
    private final Phase add;
    private final Phase hadamard;
    private final Phase sigmoid;
    private final Phase round;
    private final Phase inner;
    private final CallBlock call;

    RowPhases(NativeLibrary library, Buffers buffers, KernelPool pool) {
        this.pool = pool;
        norm = new Phase(library, "rms_norm", false);
        add = new Phase(library, "add", false);
        hadamard = new Phase(library, "hadamard", false);
        sigmoid = new Phase(library, "sigmoid", false);
        round = new Phase(library, "round", false);
        inner = new Phase(library, "inner", false);
        call = new CallBlock(buffers, Math.max(ROW_FIELDS, Math.max(ROUND_FIELDS, INNER_FIELDS)));
    }

    /// Rows of a chunk: all of them when that is little work.
    static int rowsPerChunk(long width, long rows) {
        if (width * rows <= INLINE_ELEMENTS) {
            return Math.toIntExact(Math.max(1, rows));
        }
        return Math.toIntExact(Math.max(1, INLINE_ELEMENTS / 2 / width));
    }

    static int chunks(long rows, long rowsPerChunk) {
        return Math.toIntExact(Math.ceilDiv(rows, rowsPerChunk));
    }

    private void run(Phase phase, long rows, long rowsPerChunk) {
        if (rows > 0) {
            phase.run(pool, call, chunks(rows, rowsPerChunk));
        }
    }

    private int begin(long x, long gain, long y, long width, long rows) {
        int perChunk = rowsPerChunk(width, rows);
        call.begin().put(x).put(gain).put(y).put(width).put(rows).put(perChunk);
        return perChunk;
    }

    /// `y = x / sqrt(mean(x²) + eps) * gain`.
    void rmsNorm(long x, long gain, int width, int rows, float eps, long y) {
        int perChunk = begin(x, gain, y, width, rows);
        call.put((double) eps).put(1).put(1.0);
        run(norm, rows, perChunk);
    }

    /// `y += x`.
    void add(long x, long y, long elements) {
        long whole = elements / ADD_WIDTH;
        long rest = elements - whole * ADD_WIDTH;
        if (whole > 0) {
            int perChunk = begin(x, 0, y, ADD_WIDTH, whole);
            call.put(0.0).put(1).put(1.0);
            run(add, whole, perChunk);
        }
        if (rest > 0) {
            long at = whole * ADD_WIDTH * Float.BYTES;
            begin(x + at, 0, y + at, rest, 1);
            call.put(0.0).put(1).put(1.0);
            run(add, 1, 1);
        }
    }

    /// `y = H(x) * scale`.
    void hadamard(long x, int block, long scale, int width, int rows, long y) {
        int perChunk = begin(x, scale, y, width, rows);
        call.put(0.0).put(block).put((double) Hadamard.factor(block));
        run(hadamard, rows, perChunk);
    }

    /// `x = sigmoid(x)`.
    void sigmoid(long x, int width, int rows) {
        int perChunk = begin(x, 0, x, width, rows);
        call.put(0.0).put(1).put(1.0);
        run(sigmoid, rows, perChunk);
    }

    /// Rows to be rounded.
    ///
    /// @param x        address of float rows
    /// @param xStep    floats from row to row
    /// @param factors  address of factors `[width]`, 0 for none
    /// @param inputs   what they are padded to
    record Rounding(long x, long xStep, long factors, int width, int inputs) {}

    /// Rounds rows.
    void round(Rounding r, RoundedRows out, int rows) {
        int perChunk = rowsPerChunk(r.width, rows);
        out.reserve(rows, r.inputs);
        call.begin().put(r.x).put(r.xStep).put(r.factors).put(r.width);
        out.put(call);
        call.put(rows).put(perChunk);
        run(round, rows, perChunk);
    }

    /// `gate = H(silu(gate) * up)`, and its rounding.
    ///
    /// @param gate     address of `[rows, step]`, overwritten
    /// @param up       address of `[rows, step]`
    /// @param inputs   what rounded rows are padded to, 0 for no rounding
    /// @param out      where they go
    record Inner(long gate, long up, long step, int width, int rotation, int inputs, RoundedRows out) {}

    void inner(Inner i, int rows) {
        int perChunk = rowsPerChunk(4L * i.width, rows);
        call.begin().put(i.gate).put(i.up).put(i.step).put(i.width).put(i.rotation);
        call.put((double) Hadamard.factor(i.rotation)).put(i.inputs > 0);
        if (i.inputs > 0) {
            i.out.reserve(rows, i.inputs).put(call);
        } else {
            RoundedRows.putNone(call);
        }
        call.put(rows).put(perChunk);
        run(inner, rows, perChunk);
    }
}
