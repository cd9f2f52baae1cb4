package io.millrace.kernels.scalar;

import io.millrace.kernels.AttentionRows;
import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.Hadamard;
import io.millrace.kernels.IndexerProlog;
import io.millrace.kernels.IntegerPanels;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.MlaWeights;
import io.millrace.kernels.MoeWeights;
import io.millrace.kernels.OperatorArguments;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.QuantizedMatrix;
import io.millrace.kernels.RopeRows;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.Selection;
import io.millrace.kernels.WeightSource;
import io.millrace.kernels.sampling.SamplingBatch;
import io.millrace.kernels.sampling.SamplingCandidates;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/// The specification of every operator: obvious loops on the calling thread, sums in double precision,
/// `StrictMath`. Weights stay row-major. Every intermediate of an operator that has a name in a model's
/// description is rounded to float32. Slow; it allocates as it likes.
public final class ScalarKernels implements Kernels {
    private static final String LAYOUT = "scalar-row-major";

    @Override
    public String name() {
        return "scalar";
    }

    @Override
    public String numericsId() {
        return "scalar-v1";
    }

    @Override
    public PackedMatrix pack(WeightSource matrix, Arena arena) {
        return switch (matrix) {
            case MatrixView floats -> packFloats(floats, arena);
            case QuantizedMatrix codes -> IntegerPanels.pack(codes, arena);
        };
    }

    private static PackedMatrix packFloats(MatrixView matrix, Arena arena) {
        long bytes = (long) matrix.rows() * matrix.columns() * matrix.format().elementBytes();
        MemorySegment data = arena.allocate(bytes, 64);
        float[] row = new float[matrix.columns()];
        for (int r = 0; r < matrix.rows(); r++) {
            matrix.copyRow(r, row);
            for (int c = 0; c < row.length; c++) {
                Elements.setWeight(matrix.format(), data, (long) r * row.length + c, row[c]);
            }
        }
        return new PackedMatrix(matrix.format(), matrix.rows(), matrix.columns(), LAYOUT, data);
    }

    @Override
    public void linear(PackedMatrix weights, MemorySegment x, int rows, MemorySegment y) {
        OperatorArguments.linear(weights, LAYOUT, x, rows, y);
        for (int row = 0; row < rows; row++) {
            Elements.setRow(y, row, Elements.product(weights, Elements.row(x, row, weights.inFeatures()), 0));
        }
    }

    @Override
    public void rmsNorm(MemorySegment x, MemorySegment gain, float eps, int rows, MemorySegment y) {
        int width = OperatorArguments.normWidth(x, gain, rows, y);
        for (int row = 0; row < rows; row++) {
            float[] values = Elements.row(x, row, width);
            Activations.rmsNorm(values, width, gain, eps);
            Elements.setRow(y, row, values);
        }
    }

    @Override
    public void hadamard(MemorySegment x, int block, MemorySegment scale, int rows, MemorySegment y) {
        int width = OperatorArguments.normWidth(x, scale, rows, y);
        Hadamard.check(block, width);
        for (int row = 0; row < rows; row++) {
            float[] values = Elements.row(x, row, width);
            Hadamard.rotate(values, 0, width, block);
            for (int i = 0; i < width; i++) {
                values[i] *= Elements.get(scale, i);
            }
            Elements.setRow(y, row, values);
        }
    }

    @Override
    public void add(MemorySegment x, MemorySegment y, long elements) {
        OperatorArguments.floats("x", x, elements);
        OperatorArguments.floats("y", y, elements);
        for (long i = 0; i < elements; i++) {
            Elements.set(y, i, Elements.get(y, i) + Elements.get(x, i));
        }
    }

    @Override
    public void mlaProlog(
            MlaWeights weights,
            MemorySegment x,
            RowBatch batch,
            RopeRows rope,
            AttentionRows out,
            @Nullable IndexerProlog indexer) {
        OperatorArguments.prolog(weights, LAYOUT, batch, out, indexer);
        OperatorArguments.rows(weights.shape(), x, rope, batch);
        for (int row = 0; row < batch.rows(); row++) {
            float[] hidden = Elements.row(x, row, weights.shape().hiddenSize());
            AttentionLoops.prolog(weights, hidden, batch, row, rope, out, indexer);
        }
    }

    @Override
    public void lightningIndexer(IndexerProlog indexer, RowBatch batch, Selection selection) {
        OperatorArguments.indexer(indexer, batch, selection);
        selection.firstSlot(batch.firstSlot());
        for (int row = 0; row < batch.rows(); row++) {
            AttentionLoops.select(indexer, batch, row, selection);
        }
    }

    @Override
    public void sparseMlaAttention(
            MlaWeights weights, AttentionRows input, RowBatch batch, Selection selection, MemorySegment y) {
        OperatorArguments.attention(weights, LAYOUT, input, batch, y);
        for (int row = 0; row < batch.rows(); row++) {
            Elements.setRow(y, row, AttentionLoops.attend(weights, input, batch, row, selection));
        }
    }

    @Override
    public void gatedMlp(GatedMlpWeights weights, MemorySegment x, int rows, MemorySegment y) {
        OperatorArguments.gatedMlp(weights, LAYOUT, x, rows, y);
        for (int row = 0; row < rows; row++) {
            float[] values = Elements.row(x, row, weights.gate().inFeatures());
            Elements.setRow(y, row, FeedForwardLoops.mlp(weights, values));
        }
    }

    @Override
    public void moeExperts(MoeWeights weights, MemorySegment x, int rows, MemorySegment y) {
        OperatorArguments.moe(weights, LAYOUT, x, rows, y);
        for (int row = 0; row < rows; row++) {
            float[] values = Elements.row(x, row, weights.gate().inFeatures());
            Elements.setRow(y, row, FeedForwardLoops.moe(weights, values));
        }
    }

    @Override
    public void sampleLogits(MemorySegment logits, SamplingBatch batch, SamplingCandidates found) {
        OperatorArguments.sampling(logits, batch, found);
        for (int row = 0; row < batch.rows(); row++) {
            SamplingLoops.sample(Elements.row(logits, row, batch.vocabSize()), batch, row, found);
        }
    }

    @Override
    public void close() {}
}
