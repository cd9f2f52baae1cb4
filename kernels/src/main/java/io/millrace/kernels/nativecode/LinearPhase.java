package io.millrace.kernels.nativecode;

import io.millrace.kernels.FloatPanels;
import io.millrace.kernels.IntegerPanels;
import io.millrace.kernels.PackedMatrices;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.ScaleAxis;
import io.millrace.kernels.pool.KernelPool;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/// Several products with packed weights in one dispatch. Add the products, then run them.
final class LinearPhase {
    /// Float layout of this provider.
    static final FloatPanels FLOATS = new FloatPanels(16);

    private static final int PART_FIELDS = 23;
    private static final int CALL_FIELDS = 3;

    private final Phase phase;
    private final MemorySegment cutting;
    private final CallBlock parts;
    private final CallBlock call;
    private int count;

    LinearPhase(NativeLibrary library, Buffers buffers) {
        phase = new Phase(library, "linear", false);
        cutting = library.function("linear_chunks");
        parts = new CallBlock(buffers, PART_FIELDS);
        call = new CallBlock(buffers, CALL_FIELDS);
    }

    /// Starts anew.
    ///
    /// @param maxParts  products to come at most
    LinearPhase begin(int maxParts) {
        parts.begin(maxParts * PART_FIELDS);
        count = 0;
        return this;
    }

    /// The activations of a product: float rows, and for integer weights their rounding.
    ///
    /// @param x        address of float rows
    /// @param xStep    floats from row to row
    /// @param rounded  rounded rows; null if no weight is an integer
    /// @param first    first of the rounded rows
    /// @param step     rounded rows from one row to the next
    /// @param gather   address of int32 numbers of the rows to take; 0 for all in order
    /// @param rows     rows of the product
    record Rows(long x, long xStep, @Nullable RoundedRows rounded, long first, long step, long gather, int rows) {
        static Rows of(long x, long xStep, @Nullable RoundedRows rounded, int rows) {
            return new Rows(x, xStep, rounded, 0, 1, 0, rows);
        }

        /// Some of these rows.
        Rows gathered(long numbers, int count) {
            return new Rows(x, xStep, rounded, first, step, numbers, count);
        }
    }

    /// Adds `y = x Wᵀ`.
    ///
    /// @param y      address of the result
    /// @param yStep  floats from row to row
    LinearPhase add(PackedMatrix w, Rows in, long y, long yStep) {
        return add(w, w.data().address(), in, y, yStep);
    }

    /// The same with one of several matrices.
    LinearPhase add(PackedMatrices all, int number, Rows in, long y, long yStep) {
        return add(all.like(number), all.address(number), in, y, yStep);
    }

    // With the matrix at an address that is like `w`.
    private LinearPhase add(PackedMatrix w, long address, Rows in, long y, long yStep) {
        QuantFormat format = w.format();
        boolean integer = format.isInteger();
        parts.put(number(format)).put(address);
        parts.put(integer ? IntegerPanels.panelBytes(w) : FLOATS.panelBytes(format, w.inFeatures()));
        boolean byOutput = format == QuantFormat.W8A8 && w.scaleAxis() == ScaleAxis.OUTPUT;
        parts.put(byOutput ? address + IntegerPanels.scaleOffset(w) : 0);
        parts.put(w.group());
        parts.put(integer ? IntegerPanels.paddedInputs(w) : w.inFeatures()).put(w.outFeatures());
        parts.put(in.x).put(in.xStep);
        RoundedRows rounded = in.rounded;
        if (!integer || rounded == null) {
            RoundedRows.putNone(parts);
        } else {
            rounded.put(parts, in.first, in.step);
        }
        parts.put(in.gather).put(in.rows).put(y).put(yStep);
        parts.put(0).put(0).put(0).put(0); // linear_chunks fills them in
        count++;
        return this;
    }

    private static long number(QuantFormat format) {
        return switch (format) {
            case F32 -> 0;
            case BF16 -> 1;
            case W8A8 -> 2;
            case W4A8 -> 3;
        };
    }

    /// Runs what was added.
    void run(KernelPool pool) {
        call.begin().put(count).put(parts.address()).put(pool.threads());
        phase.run(pool, call, Math.toIntExact(NativeLibrary.ask(cutting, call.address())));
    }
}
