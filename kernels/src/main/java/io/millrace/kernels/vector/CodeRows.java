package io.millrace.kernels.vector;

import io.millrace.kernels.PagedRows;
import io.millrace.kernels.RowQuantization;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/// Cached rows of int8 codes with their scales.
final class CodeRows {
    /// The shape of a vector's worth of codes; there is none of 32 bits.
    private static final boolean WHOLE = Lanes.COUNT >= 8;

    private static final VectorSpecies<Byte> CODES =
            VectorSpecies.of(byte.class, VectorShape.forBitSize(Math.max(64, Lanes.COUNT * Byte.SIZE)));

    private CodeRows() {}

    /// Rounds a row part by part and stores it.
    static void write(PagedRows rows, int[] pages, int slot, long x) {
        long pool = Lanes.address(rows.pool());
        long to = pool + rows.rowOffset(pages, slot);
        long scales = pool + rows.scaleOffset(pages, slot);
        writePart(x, rows.firstPart(), to, scales);
        if (rows.parts() == 2) {
            int first = rows.firstPart();
            writePart(x + first * 4L, rows.rowElements() - first, to + first, scales + Float.BYTES);
        }
    }

    private static void writePart(long x, int count, long to, long scale) {
        float largest = RoundedRows.largest(x, count);
        float inverse = RowQuantization.inverse(largest);
        for (int i = 0; i < count; i++) {
            Lanes.ALL.set(ValueLayout.JAVA_BYTE, to + i, RowQuantization.code(Lanes.get(x + i * 4L), inverse));
        }
        Lanes.set(scale, RowQuantization.scale(largest));
    }

    /// Reads a row as floats.
    static void read(PagedRows rows, int[] pages, int slot, long y) {
        long pool = Lanes.address(rows.pool());
        long from = pool + rows.rowOffset(pages, slot);
        long scales = pool + rows.scaleOffset(pages, slot);
        int first = rows.firstPart();
        codes(from, first, y);
        RowMath.scale(y, Lanes.get(scales), first, y);
        if (rows.parts() == 2) {
            long rest = y + first * 4L;
            int count = rows.rowElements() - first;
            codes(from + first, count, rest);
            RowMath.scale(rest, Lanes.get(scales + Float.BYTES), count, rest);
        }
    }

    /// Reads codes as floats, without a scale.
    static void codes(long from, int count, long y) {
        int i = 0;
        for (; WHOLE && i + Lanes.COUNT <= count; i += Lanes.COUNT) {
            FloatVector v =
                    (FloatVector) ByteVector.fromMemorySegment(CODES, Lanes.ALL, from + i & Lanes.ACCESS, Lanes.ORDER)
                            .convertShape(VectorOperators.B2F, Lanes.FLOATS, 0);
            Lanes.store(v, y + i * 4L);
        }
        for (; i < count; i++) {
            Lanes.set(y + i * 4L, Lanes.ALL.get(ValueLayout.JAVA_BYTE, from + i));
        }
    }

    /// Replaces the values of a part of a query by their rounded ones.
    static void round(long x, int count) {
        float largest = RoundedRows.largest(x, count);
        RoundedRows.codes(x, RowQuantization.inverse(largest), count, x);
        RowMath.scale(x, RowQuantization.scale(largest), count, x);
    }
}
