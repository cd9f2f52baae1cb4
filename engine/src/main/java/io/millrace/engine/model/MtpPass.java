package io.millrace.engine.model;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import io.millrace.kernels.Kernels;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.Selection;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// The multi-token-prediction layer over the rows of a step. The pair `(h_{i-1}, t_i)` enters as
/// `eh_proj([enorm(embed(t_i)) | hnorm(h_{i-1})])` at slot `i` with RoPE position `i - 1`; slot 0 has
/// no pair. So a row depends only on tokens up to its slot, and every step can write the rows of its
/// own tokens.
final class MtpPass {
    private final Kernels kernels;
    private final Embedding embedding;
    private final MtpWeights weights;
    private final StateRotation stateRotation;
    private final DecoderLayer layer;
    private final RopeAngles rope;
    private final RowBatch batch;
    private final int[] pairOfRow;
    private final long rowBytes;
    private final float rmsEps;
    private final MemorySegment residual;
    private final MemorySegment embedded;
    private final MemorySegment previous;
    private final MemorySegment pairs;

    MtpPass(LoadedModel model, MtpWeights weights, DecoderLayer layer, RopeAngles rope, StepInput limits, Arena arena) {
        this.kernels = model.kernels();
        this.embedding = model.weights().embedding();
        this.weights = weights;
        this.stateRotation = model.weights().rotation();
        this.layer = layer;
        this.rope = rope;
        this.rowBytes = (long) model.config().hiddenSize() * Float.BYTES;
        this.rmsEps = model.config().rmsEps();
        this.batch = new RowBatch(limits.maxRows(), limits.maxSequences());
        this.pairOfRow = new int[limits.maxRows()];
        long elements = (long) limits.maxRows() * model.config().hiddenSize();
        this.residual = Scratch.floats(arena, elements);
        this.embedded = Scratch.floats(arena, elements);
        this.previous = Scratch.floats(arena, elements);
        this.pairs = Scratch.floats(arena, 2 * elements);
    }

    /// Writes the rows of a step's tokens.
    ///
    /// @param input   the step
    /// @param states  post-final-norm states of its rows
    void writeRows(StepInput input, MemorySegment states) {
        gather(input, states);
        int count = batch.rows();
        if (count == 0) {
            return;
        }
        kernels.rmsNorm(embedded, weights.embeddingNorm(), rmsEps, count, embedded);
        kernels.rmsNorm(previous, weights.hiddenNorm(), rmsEps, count, previous);
        stateRotation.apply(kernels, previous, count);
        for (int pair = 0; pair < count; pair++) {
            MemorySegment.copy(embedded, pair * rowBytes, pairs, 2L * pair * rowBytes, rowBytes);
            MemorySegment.copy(previous, pair * rowBytes, pairs, (2L * pair + 1) * rowBytes, rowBytes);
        }
        kernels.linear(weights.projection(), pairs, count, residual);
        layer.prolog(residual, batch, rope.fill(batch));
    }

    private void gather(StepInput input, MemorySegment states) {
        batch.clear(1);
        int pair = 0;
        for (int s = 0; s < input.sequences(); s++) {
            int sequence = batch.addSequence(input.pages(s));
            int start = input.rowStart(s);
            for (int row = start; row < input.rowEnd(s); row++) {
                int slot = input.firstSlot(s) + row - start;
                if (slot == 0) {
                    pairOfRow[row] = -1;
                    continue;
                }
                batch.addRow(sequence, slot);
                embedding.lookUp(input.token(row), embedded, pair * rowBytes);
                if (row == start) {
                    float[] before = input.stateBefore(s);
                    MemorySegment.copy(before, 0, previous, JAVA_FLOAT, pair * rowBytes, before.length);
                } else {
                    MemorySegment.copy(
                            states, JAVA_BYTE, (row - 1) * rowBytes, previous, JAVA_BYTE, pair * rowBytes, rowBytes);
                }
                pairOfRow[row] = pair++;
            }
        }
    }

    /// Computes the layer for the rows last written. Their queries must still be in the scratch.
    ///
    /// @param selection  used for the layer's own selection
    /// @param states     out: post-head-norm states, one per pair
    /// @param observer   told about selection and residual stream, see [StepObserver]
    /// @param number     the layer's number
    void predict(Selection selection, MemorySegment states, StepObserver observer, int number) {
        if (batch.rows() == 0) {
            return;
        }
        selection.firstSlot(1);
        layer.select(batch, selection);
        observer.selected(number, batch, selection);
        layer.attendAndFeed(residual, batch, selection);
        observer.computed(number, batch, residual);
        weights.headNorm().apply(kernels, residual, rmsEps, batch.rows(), states);
    }

    /// Number of the pair of a step's row.
    int pairOf(int row) {
        if (pairOfRow[row] < 0) {
            throw new IllegalArgumentException(
                    "row " + row + " is slot 0 of its sequence (expected: a row that has a token before it)");
        }
        return pairOfRow[row];
    }
}
