package io.millrace.kernels.scalar;

import io.millrace.kernels.Bfloat16;
import io.millrace.kernels.IntegerPanels;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.PagedRows;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.RowQuantization;
import io.millrace.kernels.ScaleAxis;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;

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
            case W8A8, W4A8 -> throw new IllegalStateException("a float of a matrix of " + format);
        };
    }

    static void setWeight(QuantFormat format, MemorySegment data, long index, float value) {
        switch (format) {
            case F32 -> data.set(F32, index * Float.BYTES, value);
            case BF16 -> data.set(BITS16, index * Short.BYTES, Bfloat16.round(value));
            case W8A8, W4A8 -> throw new IllegalStateException("a float of a matrix of " + format);
        }
    }

    /// The cached row of a slot, as its format stores it.
    static float[] cached(PagedRows rows, int[] pages, int slot) {
        long at = rows.rowOffset(pages, slot);
        float[] values = new float[rows.rowElements()];
        if (rows.format() == KvFormat.INT8) {
            byte[] codes = codes(rows, pages, slot);
            for (int i = 0; i < values.length; i++) {
                values[i] = codes[i] * partScale(rows, pages, slot, i < rows.firstPart() ? 0 : 1);
            }
            return values;
        }
        for (int i = 0; i < values.length; i++) {
            values[i] = switch (rows.format()) {
                case F32 -> rows.pool().get(F32, at + (long) i * Float.BYTES);
                case BF16 -> Bfloat16.widen(rows.pool().get(BITS16, at + (long) i * Short.BYTES));
                case INT8 -> throw new IllegalStateException("handled above");
            };
        }
        return values;
    }

    /// The int8 codes of a cached row.
    static byte[] codes(PagedRows rows, int[] pages, int slot) {
        return rows.pool()
                .asSlice(rows.rowOffset(pages, slot), rows.rowElements())
                .toArray(ValueLayout.JAVA_BYTE);
    }

    /// The scale of a part of a cached int8 row.
    static float partScale(PagedRows rows, int[] pages, int slot, int part) {
        return rows.pool().get(F32, rows.scaleOffset(pages, slot) + (long) part * Float.BYTES);
    }

    /// Rounds a row to the format of its page and stores it.
    static void store(PagedRows rows, int[] pages, int slot, float[] values) {
        long at = rows.rowOffset(pages, slot);
        if (rows.format() == KvFormat.INT8) {
            byte[] codes = new byte[rows.rowElements()];
            for (int part = 0; part < rows.parts(); part++) {
                int from = part == 0 ? 0 : rows.firstPart();
                int to = part == 0 ? rows.firstPart() : rows.rowElements();
                float scale = RowQuantization.quantize(values, from, to - from, codes);
                rows.pool().set(F32, rows.scaleOffset(pages, slot) + (long) part * Float.BYTES, scale);
            }
            MemorySegment.copy(codes, 0, rows.pool(), ValueLayout.JAVA_BYTE, at, codes.length);
            return;
        }
        for (int i = 0; i < values.length; i++) {
            switch (rows.format()) {
                case F32 -> rows.pool().set(F32, at + (long) i * Float.BYTES, values[i]);
                case BF16 -> rows.pool().set(BITS16, at + (long) i * Short.BYTES, Bfloat16.round(values[i]));
                case INT8 -> throw new IllegalStateException("handled above");
            }
        }
    }

    /// `y[o] = Σ_i x[from + i] * W[o, i]`, in the arithmetic of the matrix's format.
    static float[] product(PackedMatrix w, float[] x, int from) {
        return switch (w.format()) {
            case F32, BF16 -> floatProduct(w, x, from);
            case W8A8 -> wholeRowProduct(w, x, from);
            case W4A8 -> groupedProduct(w, x, from);
        };
    }

    private static float[] floatProduct(PackedMatrix w, float[] x, int from) {
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

    private static float[] wholeRowProduct(PackedMatrix w, float[] x, int from) {
        int in = w.inFeatures();
        float[] scaled = Arrays.copyOfRange(x, from, from + in);
        boolean byInput = w.scaleAxis() == ScaleAxis.INPUT;
        for (int i = 0; i < in && byInput; i++) {
            scaled[i] *= IntegerPanels.scale(w, i);
        }
        byte[] codes = new byte[in];
        float scale = RowQuantization.quantize(scaled, 0, in, codes);
        float[] y = new float[w.outFeatures()];
        for (int o = 0; o < y.length; o++) {
            int sum = 0;
            for (int i = 0; i < in; i++) {
                sum += codes[i] * IntegerPanels.code(w, o, i);
            }
            y[o] = sum * (byInput ? scale : scale * IntegerPanels.scale(w, o));
        }
        return y;
    }

    private static float[] groupedProduct(PackedMatrix w, float[] x, int from) {
        int in = w.inFeatures();
        byte[] codes = new byte[in];
        float scale = RowQuantization.quantize(Arrays.copyOfRange(x, from, from + in), 0, in, codes);
        float[] y = new float[w.outFeatures()];
        for (int o = 0; o < y.length; o++) {
            float sum = 0;
            for (int start = 0; start < in; start += w.group()) {
                int inGroup = 0;
                for (int i = start; i < Math.min(in, start + w.group()); i++) {
                    inGroup += codes[i] * IntegerPanels.code(w, o, i);
                }
                sum = Math.fma((float) inGroup, IntegerPanels.groupScale(w, o, start / w.group()), sum);
            }
            y[o] = sum * scale;
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

    /// Dot product of codes.
    static int dot(byte[] a, int aFrom, byte[] b, int bFrom, int count) {
        int sum = 0;
        for (int i = 0; i < count; i++) {
            sum += a[aFrom + i] * b[bFrom + i];
        }
        return sum;
    }
}
