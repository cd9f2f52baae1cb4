package io.millrace.kernels.scalar;

import io.millrace.kernels.Bfloat16;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.PagedRows;
import io.millrace.kernels.QuantFormat;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/// Element access in every number format, and the two loops every operator is made of.
final class Elements {
    private static final ValueLayout.OfFloat F32 = ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfShort BITS16 =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private Elements() {}

    static float get(MemorySegment segment, long index) {
        return segment.get(F32, index * Float.BYTES);
    }

    static void set(MemorySegment segment, long index, float value) {
        segment.set(F32, index * Float.BYTES, value);
    }

    static float[] row(MemorySegment segment, long row, int width) {
        float[] values = new float[width];
        for (int i = 0; i < width; i++) {
            values[i] = get(segment, row * width + i);
        }
        return values;
    }

    static void setRow(MemorySegment segment, long row, float[] values) {
        for (int i = 0; i < values.length; i++) {
            set(segment, row * values.length + i, values[i]);
        }
    }

    static float weight(QuantFormat format, MemorySegment data, long index) {
        return switch (format) {
            case F32 -> data.get(F32, index * Float.BYTES);
            case BF16 -> Bfloat16.widen(data.get(BITS16, index * Short.BYTES));
        };
    }

    static void setWeight(QuantFormat format, MemorySegment data, long index, float value) {
        switch (format) {
            case F32 -> data.set(F32, index * Float.BYTES, value);
            case BF16 -> data.set(BITS16, index * Short.BYTES, Bfloat16.round(value));
        }
    }

    /// The cached row of a slot, as its format stores it.
    static float[] cached(PagedRows rows, int[] pages, int slot) {
        long at = rows.rowOffset(pages, slot);
        KvFormat format = rows.format();
        float[] values = new float[rows.rowElements()];
        for (int i = 0; i < values.length; i++) {
            values[i] = switch (format) {
                case F32 -> rows.pool().get(F32, at + (long) i * Float.BYTES);
                case BF16 -> Bfloat16.widen(rows.pool().get(BITS16, at + (long) i * Short.BYTES));
            };
        }
        return values;
    }

    /// Rounds a row to the format of its page and stores it.
    static void store(PagedRows rows, int[] pages, int slot, float[] values) {
        long at = rows.rowOffset(pages, slot);
        KvFormat format = rows.format();
        for (int i = 0; i < values.length; i++) {
            switch (format) {
                case F32 -> rows.pool().set(F32, at + (long) i * Float.BYTES, values[i]);
                case BF16 -> rows.pool().set(BITS16, at + (long) i * Short.BYTES, Bfloat16.round(values[i]));
            }
        }
    }

    /// `y[o] = Σ_i x[from + i] * W[o, i]`.
    static float[] product(PackedMatrix w, float[] x, int from) {
        float[] y = new float[w.outFeatures()];
        int in = w.inFeatures();
        for (int o = 0; o < y.length; o++) {
            double sum = 0;
            for (int i = 0; i < in; i++) {
                sum += (double) x[from + i] * weight(w.format(), w.data(), (long) o * in + i);
            }
            y[o] = (float) sum;
        }
        return y;
    }

    /// `Σ_i a[aFrom + i] * b[bFrom + i]` over `count` elements.
    static double dot(float[] a, int aFrom, float[] b, int bFrom, int count) {
        double sum = 0;
        for (int i = 0; i < count; i++) {
            sum += (double) a[aFrom + i] * b[bFrom + i];
        }
        return sum;
    }
}
