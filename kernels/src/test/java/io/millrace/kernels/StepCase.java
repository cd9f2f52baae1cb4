package io.millrace.kernels;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// The rows of one step and a pool of shuffled pages whose earlier slots are filled. Every sequence has its cached past
/// and then some new rows.
public final class StepCase {
    private static final int PAGE = PagedRows.PAGE_TOKENS;

    public final RowBatch batch;
    public final PagedRows latent;
    public final PagedRows keys;
    public final int[][] pageTables;
    private final int[] pasts;
    private final int[] counts;
    private final int firstSlot;

    /// @param pasts   cached tokens of each sequence
    /// @param counts  new rows of each sequence
    public StepCase(SeededRandom random, LayerCase layer, KvFormat format, int firstSlot, int[] pasts, int[] counts) {
        this.pasts = pasts;
        this.counts = counts;
        this.firstSlot = firstSlot;
        int pages = 0;
        int[] lengths = new int[pasts.length];
        for (int s = 0; s < pasts.length; s++) {
            lengths[s] = (firstSlot + pasts[s] + counts[s] + PAGE - 1) / PAGE;
            pages += lengths[s];
        }
        int[] order = new int[pages];
        for (int i = 0; i < pages; i++) {
            int j = random.below(i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        pageTables = new int[pasts.length][];
        int at = 0;
        for (int s = 0; s < pasts.length; s++) {
            pageTables[s] = new int[lengths[s]];
            for (int i = 0; i < lengths[s]; i++) {
                pageTables[s][i] = order[at++];
            }
        }
        int cacheRow = layer.shape.cacheRow();
        long latentBytes = PagedRows.sectionBytes(format, cacheRow, 2);
        long keyBytes = PagedRows.sectionBytes(format, layer.indexDim, 1);
        long pageBytes = (latentBytes + keyBytes + 127) / 64 * 64;
        MemorySegment pool = pool(random, format, pages * pageBytes);
        latent = new PagedRows(pool, pageBytes, 0, cacheRow, layer.shape.kvLoraRank(), format);
        keys = new PagedRows(pool, pageBytes, latentBytes, layer.indexDim, format);
        if (format == KvFormat.INT8) {
            for (int page = 0; page < pages; page++) {
                scales(random, latent, page);
                scales(random, keys, page);
            }
        }
        batch = batch(0, rows());
    }

    private static MemorySegment pool(SeededRandom random, KvFormat format, long bytes) {
        return switch (format) {
            case F32 -> random.floats(bytes / Float.BYTES, 1);
            case BF16 -> SeededRandom.inFormat(QuantFormat.BF16, random.floats(bytes / Short.BYTES, 1));
            case INT8 -> {
                MemorySegment codes = Arena.ofAuto().allocate(bytes, 64);
                for (long i = 0; i < bytes; i++) {
                    codes.set(ValueLayout.JAVA_BYTE, i, (byte) (random.below(255) - 127));
                }
                yield codes;
            }
        };
    }

    private static void scales(SeededRandom random, PagedRows rows, int page) {
        int[] pages = {page};
        for (int slot = 0; slot < PAGE; slot++) {
            for (int part = 0; part < rows.parts(); part++) {
                long at = rows.scaleOffset(pages, slot) + (long) part * Float.BYTES;
                rows.pool().set(ValueLayout.JAVA_FLOAT_UNALIGNED, at, (0.5f + random.below(100) / 100f) / 127);
            }
        }
    }

    /// New rows of all sequences.
    public int rows() {
        int sum = 0;
        for (int count : counts) {
            sum += count;
        }
        return sum;
    }

    /// Rows `[from, from + count)` of this step as a batch of their own.
    public RowBatch batch(int from, int count) {
        RowBatch part = new RowBatch(Math.max(1, rows()), pasts.length);
        part.clear(firstSlot);
        int row = 0;
        for (int s = 0; s < pasts.length; s++) {
            int sequence = part.addSequence(pageTables[s]);
            for (int i = 0; i < counts[s]; i++, row++) {
                if (row >= from && row < from + count) {
                    part.addRow(sequence, firstSlot + pasts[s] + i);
                }
            }
        }
        return part;
    }

    /// The same cached rows in a copy of the pool.
    public static PagedRows in(MemorySegment pool, PagedRows rows) {
        return new PagedRows(
                pool, rows.pageBytes(), rows.sectionOffset(), rows.rowElements(), rows.firstPart(), rows.format());
    }

    /// Rotations of rows `[from, from + count)`.
    public RopeRows rope(int from, int count, int ropeDim) {
        int half = ropeDim / 2;
        RowBatch part = batch(from, count);
        MemorySegment cos = Floats.zeros((long) count * half);
        MemorySegment sin = Floats.zeros((long) count * half);
        for (int row = 0; row < count; row++) {
            for (int i = 0; i < half; i++) {
                double angle = part.position(row) * Math.pow(10000, -2.0 * i / ropeDim);
                cos.setAtIndex(ValueLayout.JAVA_FLOAT, (long) row * half + i, (float) Math.cos(angle));
                sin.setAtIndex(ValueLayout.JAVA_FLOAT, (long) row * half + i, (float) Math.sin(angle));
            }
        }
        return new RopeRows(cos, sin, ropeDim);
    }
}
