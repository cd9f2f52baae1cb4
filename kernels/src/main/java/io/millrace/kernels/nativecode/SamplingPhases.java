package io.millrace.kernels.nativecode;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.millrace.kernels.pool.KernelPool;
import io.millrace.kernels.sampling.NoiseBounds;
import io.millrace.kernels.sampling.SamplingBatch;
import io.millrace.kernels.sampling.SamplingCandidates;
import io.millrace.kernels.sampling.SamplingSlices;
import java.lang.foreign.MemorySegment;

/// Rows of logits in three phases: all slices are scanned, each row is ranked, and the slices of rows that
/// want sums or contenders are weighed beside their row's maximum.
final class SamplingPhases {
    private static final int CALL_FIELDS = 14;
    private static final int SLICES_PER_CHUNK = 4;

    // sampling_row, in fields of eight bytes.
    private static final int ROW_FIELDS = 11;
    private static final int CANDIDATES = 0;
    private static final int SCALED_SUM = 1;
    private static final int LOGIT_SUM = 2;
    private static final int NOISE = 3;
    private static final int TEMPERATURE = 4;
    private static final int KEY_0 = 5;
    private static final int KEY_1 = 6;
    private static final int POSITION = 7;
    private static final int CHOICE = 8;
    private static final int MAX = 9;
    private static final int FLOOR = 10;

    private final KernelPool pool;
    private final Phase scan;
    private final Phase rank;
    private final Phase weigh;
    private final MemorySegment sizing;
    private final CallBlock call;
    private final Buffer rowBuffer;
    private final Buffer maxima;
    private final Buffer invalid;
    private final Buffer found;
    private final Buffer ids;
    private final Buffer values;
    private final Buffer records;
    private final Buffer scratch;
    private final int[] words = new int[4];

    SamplingPhases(NativeLibrary library, Buffers buffers, KernelPool pool) {
        this.pool = pool;
        scan = new Phase(library, "sample_scan", true);
        rank = new Phase(library, "sample_rank", true);
        weigh = new Phase(library, "sample_weigh", true);
        sizing = library.function("sample_scratch");
        call = new CallBlock(buffers, CALL_FIELDS);
        rowBuffer = buffers.buffer();
        maxima = buffers.buffer();
        invalid = buffers.buffer();
        found = buffers.buffer();
        ids = buffers.buffer();
        values = buffers.buffer();
        records = buffers.buffer();
        scratch = buffers.buffer();
    }

    /// @param logits  address of the rows
    void run(long logits, SamplingBatch batch, SamplingCandidates result) {
        int rows = batch.rows();
        int slices = SamplingSlices.count(batch.vocabSize());
        fillRows(batch);
        fillCall(logits, batch, slices);
        int chunks = Math.toIntExact((long) rows * Math.ceilDiv(slices, SLICES_PER_CHUNK));
        scan.run(pool, call, chunks);
        rank.run(pool, call, rows);
        boolean weighs = false;
        for (int row = 0; row < rows; row++) {
            weighs |= takeRanked(batch, row, result);
        }
        if (!weighs) {
            return;
        }
        weigh.run(pool, call, chunks);
        MemorySegment asked = rowBuffer.memory();
        for (int row = 0; row < rows; row++) {
            if (isWeighed(asked, row)) {
                SamplingSlices.join(records.memory(), batch, row, result);
            }
        }
    }

    private void fillRows(SamplingBatch batch) {
        MemorySegment memory = rowBuffer.bytes((long) batch.rows() * ROW_FIELDS * Long.BYTES);
        for (int row = 0; row < batch.rows(); row++) {
            long at = (long) row * ROW_FIELDS;
            memory.setAtIndex(JAVA_LONG, at + CANDIDATES, batch.candidates(row));
            memory.setAtIndex(JAVA_LONG, at + SCALED_SUM, batch.wantsScaledSum(row) ? 1 : 0);
            memory.setAtIndex(JAVA_LONG, at + LOGIT_SUM, batch.wantsLogitSum(row) ? 1 : 0);
            memory.setAtIndex(JAVA_LONG, at + NOISE, batch.wantsNoise(row) ? 1 : 0);
            memory.setAtIndex(JAVA_DOUBLE, at + TEMPERATURE, batch.temperature(row));
            memory.setAtIndex(JAVA_LONG, at + KEY_0, batch.seed(row) & 0xffffffffL);
            memory.setAtIndex(JAVA_LONG, at + KEY_1, batch.seed(row) >>> 32);
            memory.setAtIndex(JAVA_LONG, at + POSITION, batch.position(row) & 0xffffffffL);
            memory.setAtIndex(JAVA_LONG, at + CHOICE, batch.choice(row) & 0xffffffffL);
        }
    }

    private void fillCall(long logits, SamplingBatch batch, int slices) {
        long rows = batch.rows();
        int most = batch.mostCandidates();
        call.begin().put(logits).put(batch.vocabSize()).put(slices).put(SLICES_PER_CHUNK);
        call.put(rowBuffer.memory());
        call.put(maxima.floats(rows * slices * SamplingSlices.BLOCKS));
        call.put(invalid.bytes(rows * slices * Integer.BYTES));
        call.put(found.bytes(rows * 2 * Integer.BYTES));
        call.put(most);
        call.put(ids.bytes(rows * most * Integer.BYTES));
        call.put(values.floats(rows * most));
        call.put(records.bytes(rows * slices * SamplingSlices.BYTES));
        long scratchBytes = NativeLibrary.ask(sizing, call.address());
        call.put(scratch.bytes(pool.threads() * scratchBytes)).put(scratchBytes);
    }

    /// Copies the candidates of a row and says whether it takes part in the last phase.
    private boolean takeRanked(SamplingBatch batch, int row, SamplingCandidates result) {
        MemorySegment asked = rowBuffer.memory();
        int firstInvalid = found.memory().getAtIndex(JAVA_INT, 2L * row);
        if (firstInvalid >= 0) {
            result.reject(row, firstInvalid);
        } else {
            int count = found.memory().getAtIndex(JAVA_INT, 2L * row + 1);
            long at = (long) row * batch.mostCandidates() * Integer.BYTES;
            result.rank(row, count, ids.memory(), at, values.memory(), at);
        }
        if (firstInvalid >= 0 || !batch.weighs(row) || result.logit(row, 0) == Float.NEGATIVE_INFINITY) {
            asked.asSlice((long) row * ROW_FIELDS * Long.BYTES + SCALED_SUM * Long.BYTES, 3 * Long.BYTES)
                    .fill((byte) 0);
            return false;
        }
        long at = (long) row * ROW_FIELDS;
        asked.setAtIndex(JAVA_DOUBLE, at + MAX, result.logit(row, 0));
        if (batch.wantsNoise(row)) {
            int best = result.id(row, 0);
            batch.words(row, best >>> 2, words);
            asked.setAtIndex(JAVA_DOUBLE, at + FLOOR, NoiseBounds.lower(words[best & 3]));
        }
        return true;
    }

    private static boolean isWeighed(MemorySegment asked, int row) {
        long at = (long) row * ROW_FIELDS;
        return (asked.getAtIndex(JAVA_LONG, at + SCALED_SUM)
                        | asked.getAtIndex(JAVA_LONG, at + LOGIT_SUM)
                        | asked.getAtIndex(JAVA_LONG, at + NOISE))
                != 0;
    }
}
