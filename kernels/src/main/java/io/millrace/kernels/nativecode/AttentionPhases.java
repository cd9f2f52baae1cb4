package io.millrace.kernels.nativecode;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.millrace.kernels.AttentionRows;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.MlaWeights;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.Selection;
import io.millrace.kernels.pool.KernelPool;
import java.lang.foreign.MemorySegment;

/// Attention over selected slots, then W_UV. A row's keys are cut in segments of a fixed size whose
/// states are joined in order. Many rows: a chunk is a group of rows with all their segments;
/// neighbours that attend to everything share each tile of keys. Few rows: a chunk is some segments of a
/// row, or where it has but one, some of its heads. The arithmetic of a row is the same.
final class AttentionPhases {
    private static final int CALL_FIELDS = 35;
    private static final int CHUNK_INTS = 6;
    private static final int SEGMENT_KEYS = 512;
    private static final int GROUP_ROWS = 8;
    private static final int LANES = 16;
    private static final int CHUNKS_PER_THREAD = 4;
    private static final int SPLIT_CHUNKS_PER_THREAD = 16;
    private static final int MIN_PART_HEADS = 4;
    private static final int LONG_JOIN = 16; // segments from which on the heads of a join are spread

    private final KernelPool pool;
    private final LinearPhase linear;
    private final Phase attend;
    private final Phase join;
    private final MemorySegment sizing;
    private final CallBlock call;
    private final StepRows step;
    private final RoundedRows rounded;
    private final Buffer selected;
    private final Buffer counts;
    private final Buffer dense;
    private final Buffer chunkBuffer;
    private final Buffer states;
    private final Buffer latents;
    private final Buffer scratch;

    AttentionPhases(NativeLibrary library, Buffers buffers, KernelPool pool, LinearPhase linear) {
        this.pool = pool;
        this.linear = linear;
        attend = new Phase(library, "attention", true);
        join = new Phase(library, "attention_join", true);
        sizing = library.function("attention_scratch");
        call = new CallBlock(buffers, CALL_FIELDS);
        step = new StepRows(buffers);
        rounded = new RoundedRows(buffers);
        selected = buffers.buffer();
        counts = buffers.buffer();
        dense = buffers.buffer();
        chunkBuffer = buffers.buffer();
        states = buffers.buffer();
        latents = buffers.buffer();
        scratch = buffers.buffer();
    }

    /// What a call is about.
    record Call(MlaWeights weights, AttentionRows input, RowBatch batch, Selection selection) {}

    void run(Call c, long y) {
        if (c.batch.rows() == 0) {
            return;
        }
        MlaShape s = c.weights.shape();
        step.fill(c.batch);
        int segments = fillSelection(c);
        boolean whole = c.batch.rows() >= CHUNKS_PER_THREAD * pool.threads() || segments == 1;
        int chunks = whole ? wholeChunks(c, segments == 1 ? headParts(c) : 1) : segmentChunks(c);
        fill(c, whole, segments);
        attend.run(pool, call, chunks);
        if (!whole) {
            join.run(pool, call, c.batch.rows() * joinParts(segments));
        }
        raiseValues(c, s, y);
    }

    private int joinParts(int segments) {
        return segments < LONG_JOIN ? 1 : pool.threads();
    }

    private int fillSelection(Call c) {
        int rowCount = c.batch.rows();
        int topK = c.selection.topK();
        MemorySegment slots = selected.bytes((long) rowCount * topK * Integer.BYTES);
        MemorySegment sizes = counts.bytes((long) rowCount * Integer.BYTES);
        MemorySegment all = dense.bytes((long) rowCount * Integer.BYTES);
        int most = 1;
        for (int row = 0; row < rowCount; row++) {
            int count = c.selection.count(row);
            boolean selectsAll = c.selection.selectsAll(row);
            sizes.setAtIndex(JAVA_INT, row, count);
            all.setAtIndex(JAVA_INT, row, selectsAll ? 1 : 0);
            if (!selectsAll) {
                c.selection.copySlots(row, slots, (long) row * topK * Integer.BYTES);
            }
            most = Math.max(most, Math.ceilDiv(count, SEGMENT_KEYS));
        }
        return most;
    }

    /// Parts of a group's heads: a single segment cannot be split by keys.
    private int headParts(Call c) {
        int groups = 0;
        for (int row = 0; row < c.batch.rows(); row = groupEnd(c, row)) {
            groups++;
        }
        int spare = pool.threads() / groups;
        return Math.clamp(c.weights.shape().heads() / MIN_PART_HEADS, 1, Math.max(1, spare));
    }

    private int wholeChunks(Call c, int headParts) {
        RowBatch batch = c.batch;
        int heads = c.weights.shape().heads();
        MemorySegment chunks = chunkBuffer.bytes((long) batch.rows() * headParts * CHUNK_INTS * Integer.BYTES);
        int count = 0;
        int end;
        for (int row = 0; row < batch.rows(); row = end) {
            end = groupEnd(c, row);
            int last = c.selection.count(end - 1);
            for (int part = 0; part < headParts; part++) {
                new Chunk(row, end - row, 0, Math.ceilDiv(last, SEGMENT_KEYS))
                        .write(chunks, count++, heads * part / headParts, heads * (part + 1) / headParts);
            }
        }
        return count;
    }

    /// End of the group that begins with a row: neighbours that attend to everything.
    private static int groupEnd(Call c, int row) {
        int end = row + 1;
        while (c.selection.selectsAll(row)
                && end < Math.min(row + GROUP_ROWS, c.batch.rows())
                && c.batch.sequence(end) == c.batch.sequence(row)
                && c.selection.selectsAll(end)) {
            end++;
        }
        return end;
    }

    private int segmentChunks(Call c) {
        int total = 0;
        for (int row = 0; row < c.batch.rows(); row++) {
            total += Math.ceilDiv(c.selection.count(row), SEGMENT_KEYS);
        }
        MemorySegment chunks = chunkBuffer.bytes((long) total * CHUNK_INTS * Integer.BYTES);
        // Segments of one chunk fetch their successor's keys.
        int most = Math.max(1, total / (SPLIT_CHUNKS_PER_THREAD * pool.threads()));
        int count = 0;
        for (int row = 0; row < c.batch.rows(); row++) {
            int segments = Math.ceilDiv(c.selection.count(row), SEGMENT_KEYS);
            for (int s = 0; s < segments; s += most) {
                new Chunk(row, 1, s, Math.min(most, segments - s))
                        .write(chunks, count++, 0, c.weights.shape().heads());
            }
        }
        return count;
    }

    /// Rows and segments of a chunk.
    private record Chunk(int row, int rows, int segment, int segments) {
        void write(MemorySegment chunks, int number, int firstHead, int endHead) {
            long at = (long) number * CHUNK_INTS;
            chunks.setAtIndex(JAVA_INT, at, row);
            chunks.setAtIndex(JAVA_INT, at + 1, rows);
            chunks.setAtIndex(JAVA_INT, at + 2, segment);
            chunks.setAtIndex(JAVA_INT, at + 3, segments);
            chunks.setAtIndex(JAVA_INT, at + 4, firstHead);
            chunks.setAtIndex(JAVA_INT, at + 5, endHead);
        }
    }

    private void fill(Call c, boolean whole, int segments) {
        MlaShape s = c.weights.shape();
        int width = Math.ceilDiv(s.kvLoraRank(), LANES) * LANES;
        long stateFloats = 2L * Math.ceilDiv(s.heads(), LANES) * LANES + (long) s.heads() * width;
        long rowCount = c.batch.rows();
        step.put(call.begin(), c.selection.firstSlot());
        call.put(c.input.query())
                .put(s.heads())
                .put(s.kvLoraRank())
                .put(s.ropeDim())
                .put((double) s.softmaxScale());
        call.put(c.input.latent());
        call.put(selected.memory()).put(counts.memory()).put(dense.memory()).put(c.selection.topK());
        call.put(chunkBuffer.memory()).put(whole);
        call.put(whole ? 0 : states.floats(rowCount * segments * stateFloats))
                .put(segments)
                .put(stateFloats)
                .put(joinParts(segments));
        call.put(latents.floats(rowCount * s.heads() * s.kvLoraRank())).put(s.kvLoraRank());
        int inputs = c.weights.valueUp().integerInputs();
        if (inputs > 0) {
            rounded.reserve(rowCount * s.heads(), inputs).put(call);
        } else {
            RoundedRows.putNone(call);
        }
        long mark = call.mark();
        call.putNull().put(0);
        long bytes = NativeLibrary.ask(sizing, call.address());
        call.set(mark, scratch.bytes(bytes * pool.threads()).address());
        call.set(mark + Long.BYTES, bytes);
    }

    private void raiseValues(Call c, MlaShape s, long y) {
        int rowCount = c.batch.rows();
        long from = latents.memory().address();
        linear.begin(s.heads());
        for (int h = 0; h < s.heads(); h++) {
            long x = from + (long) h * s.kvLoraRank() * Float.BYTES;
            var in = new LinearPhase.Rows(x, (long) s.heads() * s.kvLoraRank(), rounded, h, s.heads(), 0, rowCount);
            long out = y + (long) h * s.vDim() * Float.BYTES;
            linear.add(c.weights.valueUp(), h, in, out, (long) s.heads() * s.vDim());
        }
        linear.run(pool);
    }

    /// Checks that this provider computes the form.
    static void check(MlaForm form) {
        if (form != MlaForm.ABSORBED) {
            throw new IllegalArgumentException(
                    "millrace.kernels.mla-form: " + form + " (expected: ABSORBED with the native provider)");
        }
    }
}
