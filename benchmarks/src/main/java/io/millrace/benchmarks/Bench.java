package io.millrace.benchmarks;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.millrace.kernels.Bfloat16;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.PagedRows;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.QuantizedMatrix;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.ScaleAxis;
import io.millrace.kernels.WeightSource;
import io.millrace.kernels.provider.KernelProviders;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;

/// Kernels, and random operands for them in memory that is freed together.
final class Bench implements AutoCloseable {
    private static final int GROUP = 32;
    private static final int ALIGNMENT = 64;

    private final Arena arena = Arena.ofShared();
    private final SplittableRandom random = new SplittableRandom(1);
    private final Kernels kernels;

    /// @param threads  0 for one a processor
    Bench(String provider, int threads) {
        kernels = KernelProviders.select(provider, threads == 0 ? processors() : threads)
                .kernels();
    }

    static int processors() {
        return Runtime.getRuntime().availableProcessors();
    }

    Kernels kernels() {
        return kernels;
    }

    /// Floats of -1..1.
    MemorySegment floats(long count) {
        MemorySegment data = zeros(count);
        for (long i = 0; i < count; i++) {
            data.setAtIndex(JAVA_FLOAT, i, (float) random.nextDouble(-1, 1));
        }
        return data;
    }

    MemorySegment ones(long count) {
        MemorySegment data = zeros(count);
        for (long i = 0; i < count; i++) {
            data.setAtIndex(JAVA_FLOAT, i, 1);
        }
        return data;
    }

    MemorySegment zeros(long count) {
        return arena.allocate(count * Float.BYTES, ALIGNMENT);
    }

    /// A packed matrix that keeps the size of its input.
    PackedMatrix matrix(QuantFormat format, int rows, int columns) {
        try (Arena temporary = Arena.ofConfined()) {
            return kernels.pack(source(format, rows, columns, temporary), arena);
        }
    }

    /// The same for use with exchanged rows and columns, as the absorbed half of W_UK is.
    PackedMatrix transposed(QuantFormat format, int rows, int columns) {
        try (Arena temporary = Arena.ofConfined()) {
            return kernels.pack(source(format, columns, rows, temporary).transposed(), arena);
        }
    }

    private WeightSource source(QuantFormat format, int rows, int columns, Arena temporary) {
        long count = (long) rows * columns;
        float spread = (float) Math.sqrt(3.0 / columns);
        if (format.isInteger()) {
            int largest = format == QuantFormat.W8A8 ? 127 : 7;
            int group = format == QuantFormat.W8A8 ? columns : GROUP;
            MemorySegment codes = temporary.allocate(count);
            for (long i = 0; i < count; i++) {
                codes.set(JAVA_BYTE, i, (byte) (random.nextInt(2 * largest + 1) - largest));
            }
            long scales = (long) rows * Math.ceilDiv(columns, group);
            MemorySegment values = temporary.allocate(scales * Float.BYTES, Float.BYTES);
            for (long i = 0; i < scales; i++) {
                values.setAtIndex(JAVA_FLOAT, i, Bfloat16.widen(Bfloat16.round(spread / largest)));
            }
            return new QuantizedMatrix(format, rows, columns, group, ScaleAxis.OUTPUT, codes, columns, 1, values);
        }
        MemorySegment data = temporary.allocate(count * format.elementBytes(), ALIGNMENT);
        for (long i = 0; i < count; i++) {
            float value = (float) random.nextDouble(-spread, spread);
            if (format == QuantFormat.F32) {
                data.setAtIndex(JAVA_FLOAT, i, value);
            } else {
                data.setAtIndex(JAVA_SHORT, i, Bfloat16.round(value));
            }
        }
        return MatrixView.rowMajor(format, data, rows, columns);
    }

    /// Pages of random cached rows of one layer.
    ///
    /// @param elements   of a row
    /// @param firstPart  of them
    PagedRows pages(KvFormat format, int slots, int elements, int firstPart) {
        int parts = firstPart < elements ? 2 : 1;
        long pageBytes = PagedRows.sectionBytes(format, elements, parts);
        int pages = Math.ceilDiv(slots, PagedRows.PAGE_TOKENS);
        MemorySegment pool = arena.allocate(pages * pageBytes, ALIGNMENT);
        PagedRows rows = new PagedRows(pool, pageBytes, 0, elements, firstPart, format);
        int[] table = table(slots);
        for (int slot = 0; slot < slots; slot++) {
            fill(rows, rows.rowOffset(table, slot));
            for (int part = 0; format == KvFormat.INT8 && part < parts; part++) {
                pool.set(JAVA_FLOAT, rows.scaleOffset(table, slot) + 4L * part, 1 / 127f);
            }
        }
        return rows;
    }

    private void fill(PagedRows rows, long at) {
        for (int i = 0; i < rows.rowElements(); i++) {
            float value = (float) random.nextDouble(-1, 1);
            switch (rows.format()) {
                case INT8 -> rows.pool().set(JAVA_BYTE, at + i, (byte) (127 * value));
                case BF16 -> rows.pool().set(JAVA_SHORT, at + 2L * i, Bfloat16.round(value));
                case F32 -> rows.pool().set(JAVA_FLOAT, at + 4L * i, value);
            }
        }
    }

    private static int[] table(int slots) {
        int[] table = new int[Math.ceilDiv(slots, PagedRows.PAGE_TOKENS)];
        for (int i = 0; i < table.length; i++) {
            table[i] = i;
        }
        return table;
    }

    /// The last rows of a sequence.
    static RowBatch lastRows(int slots, int rows) {
        RowBatch batch = new RowBatch(rows, 1);
        batch.clear(0);
        batch.addSequence(table(slots));
        for (int row = 0; row < rows; row++) {
            batch.addRow(0, slots - rows + row);
        }
        return batch;
    }

    @Override
    public void close() {
        kernels.close();
        arena.close();
    }
}
