package io.millrace.kernels.vector;

import io.millrace.kernels.IntegerPanels;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.RowQuantization;
import io.millrace.kernels.ScaleAxis;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.FloatVector;

/// Rows of activations rounded to int8 codes ([RowQuantization]), in the form the integer tiles read:
/// floats, because the sums run in fused multiply-adds. Weights are taken out of a lane without
/// shifting them down, by a mask alone, so each code carries the power of two that makes up for where
/// its weight lies ([#UNSHIFTS]).
///
/// A row is `[codes][corrections][scale]`. Packed weights are `code + offset`; a correction is minus
/// the offset times the sum of the codes of a block of inputs, and a sum starts from it. A block is a
/// group in W4A8 and [#BLOCK] inputs in W8A8.
final class RoundedRows {
    /// Inputs of a W8A8 block: the sum of 512 products of up to 255 and 127 stays below 2^24 and so is
    /// exact in float32, in any order.
    static final int BLOCK = 512;

    /// Inputs of the largest group: its sums stay below 2^24 and so are exact in float32.
    static final int LARGEST_GROUP = 4096;

    /// Adding and subtracting this rounds to the nearest integer, ties to even.
    private static final float ROUND = 12582912f;

    /// Factors of the codes by input: those of W8A8, twice as many of W4A8, each repeated to 16.
    private static final MemorySegment UNSHIFTS = unshifts();

    private static final int PERIOD = 16;
    private static final int ALIGNED = 16;

    private final Scratch.Buffer buffer;
    private QuantFormat format = QuantFormat.W8A8;
    private int inputs;
    private int padded;
    private int block;
    private long byInput;
    private long source;
    private long sourceRow;
    private int rows;
    private long address;
    private long rowBytes;

    RoundedRows(Scratch.Buffer buffer) {
        this.buffer = buffer;
    }

    /// Weights of 8 bits lie 8 apart, the topmost is shifted down; those of 4 bits likewise, the low
    /// halves of the bytes first.
    private static MemorySegment unshifts() {
        float[] factors = new float[2 * PERIOD];
        for (int i = 0; i < PERIOD; i++) {
            int shift8 = i % 4 == 3 ? 0 : 8 * (i % 4);
            int shift4 = i % 8 == 7 ? 0 : 8 * (i % 4) + (i % 8 < 4 ? 0 : 4);
            factors[i] = (float) Math.scalb(1.0, -shift8);
            factors[PERIOD + i] = (float) Math.scalb(1.0, -shift4);
        }
        return Arena.global().allocateFrom(ValueLayout.JAVA_FLOAT, factors);
    }

    /// Refuses groups whose sums might not be exact.
    static void check(PackedMatrix w) {
        if (w.format() == QuantFormat.W4A8 && w.group() > LARGEST_GROUP) {
            throw new IllegalArgumentException("scale group: " + w.group() + " inputs (expected: at most "
                    + LARGEST_GROUP + " with the vector provider)");
        }
    }

    private static int block(PackedMatrix w) {
        return w.format() == QuantFormat.W4A8 ? w.group() : BLOCK;
    }

    private static int codeFloats(PackedMatrix w) {
        return Math.ceilDiv(IntegerPanels.paddedInputs(w), ALIGNED) * ALIGNED;
    }

    /// Floats of a rounded row.
    static long rowFloats(PackedMatrix w) {
        int blocks = Math.ceilDiv(IntegerPanels.paddedInputs(w), block(w));
        return codeFloats(w) + Math.ceilDiv(blocks + 1, ALIGNED) * (long) ALIGNED;
    }

    /// Makes room for `count` rows for a matrix.
    void reserve(PackedMatrix w, int count) {
        buffer.reserve(rowFloats(w) * count);
    }

    /// Takes the rows of a product; [#round] then rounds them.
    void take(PackedMatrix w, long x, long xRow, int count) {
        check(w);
        format = w.format();
        inputs = w.inFeatures();
        padded = codeFloats(w);
        block = block(w);
        byInput = w.scaleAxis() == ScaleAxis.INPUT ? Lanes.address(w.data()) + IntegerPanels.scaleOffset(w) : 0;
        source = x;
        sourceRow = xRow;
        rows = count;
        rowBytes = rowFloats(w) * Float.BYTES;
        address = buffer.floats(rowFloats(w) * count);
    }

    /// Whether these rows are what a product with another matrix needs.
    boolean serves(PackedMatrix w, long x, long xRow, int count) {
        return byInput == 0
                && w.scaleAxis() == ScaleAxis.OUTPUT
                && format == w.format()
                && inputs == w.inFeatures()
                && block == block(w)
                && source == x
                && sourceRow == xRow
                && rows == count;
    }

    int rows() {
        return rows;
    }

    int inputs() {
        return inputs;
    }

    long address() {
        return address;
    }

    long rowBytes() {
        return rowBytes;
    }

    /// Bytes from the start of a row to its corrections.
    long corrections() {
        return padded * 4L;
    }

    /// Bytes from the start of a row to its scale.
    long scale() {
        return (padded + Math.ceilDiv(inputs, block)) * 4L;
    }

    /// Rounds rows `[from, end)`.
    void round(int from, int end) {
        for (int row = from; row < end; row++) {
            long x = source + row * sourceRow;
            long to = address + row * rowBytes;
            if (byInput != 0) {
                multiply(x, byInput, inputs, to);
                x = to;
            }
            float largest = largest(x, inputs);
            codes(x, RowQuantization.inverse(largest), inputs, to);
            Lanes.clear(to + inputs * 4L, (padded - inputs) * 4L);
            for (int b = 0, first = 0; first < inputs; b++, first += block) {
                float sum = sum(to + first * 4L, Math.min(block, inputs - first));
                // Subtracted from 0, so that it is never minus 0: no sum may be.
                Lanes.set(to + corrections() + b * 4L, 0f - offset() * sum);
            }
            unshift(to, padded, UNSHIFTS.address() + (format == QuantFormat.W4A8 ? PERIOD * 4L : 0));
            Lanes.set(to + scale(), RowQuantization.scale(largest));
        }
    }

    private float offset() {
        return format == QuantFormat.W4A8 ? IntegerPanels.OFFSET_4 : IntegerPanels.OFFSET_8;
    }

    private static void multiply(long x, long factors, int count, long y) {
        int i = 0;
        for (; i + Lanes.COUNT <= count; i += Lanes.COUNT) {
            Lanes.store(Lanes.load(x + i * 4L).mul(Lanes.load(factors + i * 4L)), y + i * 4L);
        }
        for (; i < count; i++) {
            Lanes.set(y + i * 4L, Lanes.get(x + i * 4L) * Lanes.get(factors + i * 4L));
        }
    }

    /// The largest magnitude; NaN if there is one.
    static float largest(long x, int count) {
        FloatVector largest = Lanes.zero();
        int i = 0;
        for (; i + Lanes.COUNT <= count; i += Lanes.COUNT) {
            largest = largest.max(Lanes.load(x + i * 4L).abs());
        }
        float result = 0;
        for (int lane = 0; lane < Lanes.COUNT; lane++) {
            result = Math.max(result, largest.lane(lane));
        }
        for (; i < count; i++) {
            result = Math.max(result, Math.abs(Lanes.get(x + i * 4L)));
        }
        return result;
    }

    /// Codes as floats. x may be y.
    static void codes(long x, float inverse, int count, long y) {
        int i = 0;
        for (; i + Lanes.COUNT <= count; i += Lanes.COUNT) {
            Lanes.store(Lanes.load(x + i * 4L).mul(inverse).add(ROUND).sub(ROUND), y + i * 4L);
        }
        for (; i < count; i++) {
            Lanes.set(y + i * 4L, Lanes.get(x + i * 4L) * inverse + ROUND - ROUND);
        }
    }

    /// Of integers, so in any order.
    private static float sum(long x, int count) {
        FloatVector sums = Lanes.zero();
        int i = 0;
        for (; i + Lanes.COUNT <= count; i += Lanes.COUNT) {
            sums = sums.add(Lanes.load(x + i * 4L));
        }
        float sum = Lanes.sum(sums);
        for (; i < count; i++) {
            sum += Lanes.get(x + i * 4L);
        }
        return sum;
    }

    private static void unshift(long x, int count, long factors) {
        for (int i = 0; i < count; i += Lanes.COUNT) {
            Lanes.store(Lanes.load(x + i * 4L).mul(Lanes.load(factors + i % PERIOD * 4L)), x + i * 4L);
        }
    }
}
