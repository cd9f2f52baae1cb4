package io.millrace.engine.evaluation;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import io.millrace.kernels.AttentionRows;
import io.millrace.kernels.ForwardingKernels;
import io.millrace.kernels.IndexerProlog;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.MlaWeights;
import io.millrace.kernels.RopeRows;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.Selection;
import java.lang.foreign.MemorySegment;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/// Kernels that sum up, for rows that see more slots than an indexer may select, how much of the
/// softmax over all visible keys falls on the selected ones: per row, layer and head. Absorbed form,
/// float32 keys, every layer with an indexer of its own, one sequence at a time; whatever attention
/// itself is computed over, the selection is the indexer's.
final class AttentionMass extends ForwardingKernels {
    private @Nullable IndexerProlog prolog;
    private @Nullable Selection selection;
    private int firstCounted;
    private double mass;
    private long measured;

    AttentionMass(Kernels kernels) {
        super(kernels);
    }

    /// Counts rows from this position on, if they see more than may be selected.
    void countFrom(int position) {
        firstCounted = position;
    }

    /// The mean over all that was counted.
    double mean() {
        return mass / measured;
    }

    /// Rows times layers times heads.
    long measured() {
        return measured;
    }

    @Override
    public void mlaProlog(
            MlaWeights weights,
            MemorySegment x,
            RowBatch batch,
            RopeRows rope,
            AttentionRows out,
            @Nullable IndexerProlog indexer) {
        kernels.mlaProlog(weights, x, batch, rope, out, indexer);
        prolog = indexer;
    }

    @Override
    public void sparseMlaAttention(
            MlaWeights weights, AttentionRows input, RowBatch batch, Selection given, MemorySegment y) {
        IndexerProlog indexer = prolog;
        if (indexer == null
                || input.form() != MlaForm.ABSORBED
                || input.latent().format() != KvFormat.F32) {
            throw new IllegalStateException("attention mass (expected: an indexer, absorbed form, float32 keys)");
        }
        int topK = indexer.weights().topK();
        if (batch.visible(batch.rows() - 1) > Math.max(topK, firstCounted)) {
            Selection selected = selection;
            if (selected == null) {
                selected = new Selection(batch.maxRows(), topK);
                selection = selected;
            }
            selected.firstSlot(batch.firstSlot());
            kernels.lightningIndexer(indexer, batch, selected);
            add(weights.shape(), input, batch, selected);
        }
        kernels.sparseMlaAttention(weights, input, batch, given, y);
    }

    private void add(MlaShape shape, AttentionRows input, RowBatch batch, Selection selected) {
        float[][] keys = keys(shape, input, batch);
        int[] counted = IntStream.range(0, batch.rows())
                .filter(row -> !selected.selectsAll(row) && batch.position(row) >= firstCounted)
                .toArray();
        double[] sums = IntStream.of(counted)
                .parallel()
                .mapToDouble(row -> IntStream.range(0, shape.heads())
                        .mapToDouble(head -> mass(shape, input, keys, batch.visible(row), row, head, selected))
                        .sum())
                .toArray();
        for (double sum : sums) {
            mass += sum;
        }
        measured += (long) counted.length * shape.heads();
    }

    /// Cached rows by element, so that the loops over slots are vectorised: `[cacheRow, slots]`.
    private static float[][] keys(MlaShape shape, AttentionRows input, RowBatch batch) {
        int last = batch.rows() - 1;
        int slots = batch.visible(last);
        float[][] keys = new float[shape.cacheRow()][slots];
        for (int slot = 0; slot < slots; slot++) {
            long at = input.latent().rowOffset(batch.pages(last), batch.firstSlot() + slot);
            for (int i = 0; i < keys.length; i++) {
                keys[i][slot] = input.latent().pool().get(JAVA_FLOAT, at + (long) i * Float.BYTES);
            }
        }
        return keys;
    }

    private static double mass(
            MlaShape shape, AttentionRows input, float[][] keys, int visible, int row, int head, Selection selected) {
        float[] scores = new float[visible];
        long query = ((long) row * shape.heads() + head) * shape.cacheRow();
        for (int i = 0; i < keys.length; i++) {
            float q = input.query().getAtIndex(JAVA_FLOAT, query + i) * shape.softmaxScale();
            float[] key = keys[i];
            for (int slot = 0; slot < visible; slot++) {
                scores[slot] += q * key[slot];
            }
        }
        float most = Float.NEGATIVE_INFINITY;
        for (float score : scores) {
            most = Math.max(most, score);
        }
        double all = 0;
        double chosen = 0;
        int rank = 0;
        for (int slot = 0; slot < visible; slot++) {
            double weight = Math.exp((double) scores[slot] - most);
            all += weight;
            if (rank < selected.count(row) && selected.slot(row, rank) - selected.firstSlot() == slot) {
                chosen += weight;
                rank++;
            }
        }
        return chosen / all;
    }
}
