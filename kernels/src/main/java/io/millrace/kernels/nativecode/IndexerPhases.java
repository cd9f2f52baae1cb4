package io.millrace.kernels.nativecode;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.millrace.kernels.IndexerProlog;
import io.millrace.kernels.IndexerWeights;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.Selection;
import io.millrace.kernels.pool.KernelPool;
import java.lang.foreign.MemorySegment;

/// The lightning indexer. Many rows are spread in groups of neighbours, which share each tile of keys;
/// few rows are split by their keys, and the candidates of the parts are joined. What is selected is
/// the same.
final class IndexerPhases {
    private static final int CALL_FIELDS = 25;
    private static final int CHUNK_INTS = 5;
    private static final int GROUP_ROWS = 8;
    private static final int TILE_KEYS = 64;
    private static final int MIN_SEGMENT_KEYS = 1024;
    private static final int CHUNKS_PER_THREAD = 4;

    private final KernelPool pool;
    private final Phase score;
    private final Phase join;
    private final MemorySegment sizing;
    private final CallBlock call;
    private final StepRows step;
    private final Buffer chunkBuffer;
    private final Buffer scoreBuffer;
    private final Buffer candidateBuffer;
    private final Buffer countBuffer;
    private final Buffer selectedBuffer;
    private final Buffer scratch;

    IndexerPhases(NativeLibrary library, Buffers buffers, KernelPool pool) {
        this.pool = pool;
        score = new Phase(library, "indexer", true);
        join = new Phase(library, "indexer_join", true);
        sizing = library.function("indexer_scratch");
        call = new CallBlock(buffers, CALL_FIELDS);
        step = new StepRows(buffers);
        chunkBuffer = buffers.buffer();
        scoreBuffer = buffers.buffer();
        candidateBuffer = buffers.buffer();
        countBuffer = buffers.buffer();
        selectedBuffer = buffers.buffer();
        scratch = buffers.buffer();
    }

    void run(IndexerProlog indexer, RowBatch batch, Selection selection) {
        int topK = indexer.weights().topK();
        int scored = 0;
        for (int row = 0; row < batch.rows(); row++) {
            scored += batch.visible(row) > topK ? 1 : 0;
        }
        if (scored > 0) {
            step.fill(batch);
            boolean split = scored < 2 * pool.threads() * GROUP_ROWS && scored < CHUNKS_PER_THREAD * pool.threads();
            int segments = split ? CHUNKS_PER_THREAD * pool.threads() : 1;
            int chunks = split ? chunksByKeys(batch, topK, scored, segments) : chunksByRows(batch, topK, scored);
            fill(indexer, batch.rows(), segments, split);
            score.run(pool, call, chunks);
            if (split) {
                joinRows(batch, topK);
            }
        }
        MemorySegment selected = selectedBuffer.memory();
        for (int row = 0; row < batch.rows(); row++) {
            if (batch.visible(row) <= topK) {
                selection.selectAll(row, batch.visible(row));
            } else {
                selection.select(row, selected, (long) row * topK * Integer.BYTES, topK);
            }
        }
    }

    // A chunk of `indexer_join` is a row of the batch; rows that see everything are left out.
    private void joinRows(RowBatch batch, int topK) {
        for (int row = 0; row < batch.rows(); row++) {
            if (batch.visible(row) > topK) {
                join.runHere(call, row);
            }
        }
    }

    private int chunksByRows(RowBatch batch, int topK, int scored) {
        MemorySegment chunks = chunkBuffer.bytes((long) scored * CHUNK_INTS * Integer.BYTES);
        int count = 0;
        int row = 0;
        while (row < batch.rows()) {
            int rows = 0;
            while (rows < GROUP_ROWS
                    && row + rows < batch.rows()
                    && batch.sequence(row + rows) == batch.sequence(row)
                    && batch.visible(row + rows) > topK) {
                rows++;
            }
            if (rows > 0) {
                new Chunk(row, rows, 0, batch.visible(row + rows - 1), 0).write(chunks, count++);
            }
            row += Math.max(1, rows);
        }
        return count;
    }

    private int chunksByKeys(RowBatch batch, int topK, int scored, int segments) {
        MemorySegment chunks = chunkBuffer.bytes((long) scored * segments * CHUNK_INTS * Integer.BYTES);
        MemorySegment counts = countBuffer.bytes((long) batch.rows() * segments * Integer.BYTES);
        counts.asSlice(0, (long) batch.rows() * segments * Integer.BYTES).fill((byte) 0);
        int count = 0;
        for (int row = 0; row < batch.rows(); row++) {
            int visible = batch.visible(row);
            int keys = Math.max(MIN_SEGMENT_KEYS, Math.ceilDiv(Math.ceilDiv(visible, segments), TILE_KEYS) * TILE_KEYS);
            for (int from = 0; from < visible && visible > topK; from += keys) {
                new Chunk(row, 1, from, Math.min(keys, visible - from), from / keys).write(chunks, count++);
            }
        }
        return count;
    }

    /// Rows and keys of a chunk.
    private record Chunk(int row, int rows, int fromKey, int keys, int segment) {
        void write(MemorySegment chunks, int number) {
            long at = (long) number * CHUNK_INTS;
            chunks.setAtIndex(JAVA_INT, at, row);
            chunks.setAtIndex(JAVA_INT, at + 1, rows);
            chunks.setAtIndex(JAVA_INT, at + 2, fromKey);
            chunks.setAtIndex(JAVA_INT, at + 3, keys);
            chunks.setAtIndex(JAVA_INT, at + 4, segment);
        }
    }

    private void fill(IndexerProlog indexer, int rows, int segments, boolean split) {
        IndexerWeights w = indexer.weights();
        long lists = split ? (long) rows * segments : 1;
        step.put(call.begin(), step.firstSlot());
        call.put(indexer.query()).put(indexer.headWeights());
        call.put(w.heads()).put(w.headDim()).put(w.topK()).put(indexer.keys());
        call.put(chunkBuffer.memory()).put(segments).put(split);
        call.put(scoreBuffer.floats(lists * w.topK()))
                .put(candidateBuffer.floats(lists * w.topK()))
                .put(countBuffer.floats(lists));
        call.put(selectedBuffer.floats((long) rows * w.topK()));
        long mark = call.mark();
        call.putNull().put(0);
        long bytes = NativeLibrary.ask(sizing, call.address());
        call.set(mark, scratch.bytes(bytes * pool.threads()).address());
        call.set(mark + Long.BYTES, bytes);
    }
}
