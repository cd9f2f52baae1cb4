package io.millrace.standalone.bench;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import io.millrace.kernels.AttentionRows;
import io.millrace.kernels.ExpertGating;
import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.IndexerProlog;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.MoeWeights;
import io.millrace.kernels.PagedRows;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.Selection;
import io.millrace.kernels.gating.ExpertRouting;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;

/// Counts the bytes that steps of one sequence touch where that depends on the tokens: routed experts that at
/// least one row chose, and cached keys that at least one row reads. What several rows of a step share counts
/// once.
final class TouchedBytes implements AutoCloseable {
    private static final int ALIGNMENT = 64;

    private final Arena arena = Arena.ofShared();
    private final ExpertRouting routing = new ExpertRouting();
    private final BitSet slots = new BitSet();
    private final MemorySegment scores;
    private long bytes;

    /// @param maxRows  most rows of a step
    /// @param experts  routed experts of a layer
    TouchedBytes(int maxRows, int experts) {
        this.scores = arena.allocate((long) maxRows * experts * Float.BYTES, ALIGNMENT);
    }

    /// The bytes of all steps together.
    long bytes() {
        return bytes;
    }

    /// Routes rows once more, as the operator does, to see which experts they go to.
    void experts(Kernels kernels, MoeWeights weights, MemorySegment x, int rows) {
        ExpertGating gating = weights.gating();
        kernels.linear(weights.gate(), x, rows, scores);
        float[] sigmoids = routing.scores(gating, rows);
        for (int i = 0; i < rows * gating.experts(); i++) {
            sigmoids[i] = (float) (1 / (1 + Math.exp(-scores.getAtIndex(JAVA_FLOAT, i))));
        }
        MemorySegment.copy(weights.correctionBias(), JAVA_FLOAT, 0, routing.bias(gating), 0, gating.experts());
        routing.route(gating, rows);
        for (int expert = 0; expert < gating.experts(); expert++) {
            if (routing.start(expert + 1) > routing.start(expert)) {
                GatedMlpWeights chosen = weights.experts().get(expert);
                bytes += chosen.gate().data().byteSize()
                        + chosen.up().data().byteSize()
                        + chosen.down().data().byteSize();
            }
        }
    }

    /// Rows that see no more than they select are not scored.
    void indexKeys(IndexerProlog indexer, RowBatch batch) {
        int most = 0;
        for (int row = 0; row < batch.rows(); row++) {
            most = Math.max(most, batch.visible(row));
        }
        if (most > indexer.weights().topK()) {
            bytes += most * rowBytes(indexer.keys());
        }
    }

    void latents(AttentionRows input, RowBatch batch, Selection selection) {
        slots.clear();
        for (int row = 0; row < batch.rows(); row++) {
            int count = selection.count(row);
            if (selection.selectsAll(row)) {
                slots.set(selection.firstSlot(), selection.firstSlot() + count);
            } else {
                for (int rank = 0; rank < count; rank++) {
                    slots.set(selection.slot(row, rank));
                }
            }
        }
        bytes += slots.cardinality() * rowBytes(input.latent());
    }

    private static long rowBytes(PagedRows rows) {
        return rows.sectionBytes() / PagedRows.PAGE_TOKENS;
    }

    @Override
    public void close() {
        arena.close();
    }
}
