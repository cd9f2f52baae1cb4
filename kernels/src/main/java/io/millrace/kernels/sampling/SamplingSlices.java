package io.millrace.kernels.sampling;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;

/// How rows of logits are cut, and the records in which providers leave what they find in each slice:
/// `sampling_slice` in `calls.h`. The parts of a row are joined here, the same way for all.
public final class SamplingSlices {
    /// Tokens of a block: a row's maxima are kept block by block.
    public static final int BLOCK = 64;

    /// Tokens of a slice.
    public static final int SLICE = 4096;

    /// Blocks of a slice.
    public static final int BLOCKS = SLICE / BLOCK;

    /// Most contenders of a slice.
    public static final int MAX_CONTENDERS = 32;

    /// Where the fields of a record are, in bytes.
    public static final int SCALED_SUM = 0;

    public static final int LOGIT_SUM = 4;
    public static final int FLOOR = 8;
    public static final int CONTENDERS = 12;
    public static final int IDS = 16;
    public static final int TOPS = IDS + MAX_CONTENDERS * Integer.BYTES;

    /// Size of a record.
    public static final int BYTES = TOPS + MAX_CONTENDERS * Float.BYTES;

    private SamplingSlices() {}

    /// Slices of a row.
    public static int count(int vocabSize) {
        return Math.ceilDiv(vocabSize, SLICE);
    }

    /// Joins the slices of a row.
    ///
    /// @param records  the records of all rows, slice by slice
    public static void join(MemorySegment records, SamplingBatch batch, int row, SamplingCandidates found) {
        int slices = count(batch.vocabSize());
        long first = (long) row * slices * BYTES;
        long end = first + (long) slices * BYTES;
        double scaled = 0;
        double plain = 0;
        for (long at = first; at < end; at += BYTES) {
            scaled += batch.wantsScaledSum(row) ? records.get(JAVA_FLOAT, at + SCALED_SUM) : 0;
            plain += batch.wantsLogitSum(row) ? records.get(JAVA_FLOAT, at + LOGIT_SUM) : 0;
        }
        found.sums(row, scaled, plain);
        if (batch.wantsNoise(row)) {
            joinContenders(records, first, end, row, found);
        }
    }

    private static void joinContenders(MemorySegment records, long first, long end, int row, SamplingCandidates found) {
        float floor = Float.NEGATIVE_INFINITY;
        for (long at = first; at < end; at += BYTES) {
            floor = Math.max(floor, records.get(JAVA_FLOAT, at + FLOOR));
        }
        for (long at = first; at < end; at += BYTES) {
            int count = records.get(JAVA_INT, at + CONTENDERS);
            if (count > MAX_CONTENDERS) {
                found.tooMany(row);
                return;
            }
            for (int i = 0; i < count; i++) {
                if (records.get(JAVA_FLOAT, at + TOPS + (long) i * Float.BYTES) > floor) {
                    found.contend(row, records.get(JAVA_INT, at + IDS + (long) i * Integer.BYTES));
                }
            }
        }
    }
}
