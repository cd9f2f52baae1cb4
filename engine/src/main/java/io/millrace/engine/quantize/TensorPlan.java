package io.millrace.engine.quantize;

import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.engine.checkpoint.ExpectedTensors;
import io.millrace.engine.checkpoint.IntegerWeights;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.checkpoint.TensorType;
import io.millrace.engine.profile.MatrixRole;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.QuantFormat;
import java.util.ArrayList;
import java.util.List;

/// Which tensors the new checkpoint has, and what each is made from. Copies of embedding and head that
/// some checkpoints repeat in their MTP layer are left out, and so is an MTP layer that nobody computes;
/// a head that was the embedding becomes a tensor of its own.
final class TensorPlan implements ExpectedTensors.Visitor {
    private final Checkpoint checkpoint;
    private final WeightProfile profile;
    private final List<Entry> entries = new ArrayList<>();

    /// A tensor of the source.
    ///
    /// @param name     in the source
    /// @param format   it is stored in
    /// @param rows     outputs; of a vector 1
    /// @param columns  inputs; of a vector its size
    /// @param vector   whether it is a vector
    record Entry(String name, QuantFormat format, int rows, int columns, boolean vector) {
        /// What is written for it.
        List<StoredTensor> stored() {
            List<Long> shape = List.of((long) rows, (long) columns);
            return switch (format) {
                case F32 -> List.of(new StoredTensor(name, TensorType.F32, vector ? shape.subList(1, 2) : shape));
                case BF16 -> List.of(new StoredTensor(name, TensorType.BF16, shape));
                case W8A8 ->
                    List.of(
                            new StoredTensor(name, TensorType.I8, shape),
                            new StoredTensor(IntegerWeights.scaleName(name), TensorType.F32, List.of((long) rows, 1L)));
                case W4A8 -> {
                    long words = Math.ceilDiv(columns, IntegerWeights.PER_WORD);
                    long groups = Math.ceilDiv(columns, WeightProfile.INT4_GROUP);
                    yield List.of(
                            new StoredTensor(
                                    IntegerWeights.packedName(name), TensorType.I32, List.of((long) rows, words)),
                            new StoredTensor(
                                    IntegerWeights.scaleName(name), TensorType.BF16, List.of((long) rows, groups)),
                            new StoredTensor(IntegerWeights.shapeName(name), TensorType.I64, List.of(2L)));
                }
            };
        }
    }

    private TensorPlan(Checkpoint checkpoint, WeightProfile profile) {
        this.checkpoint = checkpoint;
        this.profile = profile;
    }

    static List<Entry> of(Checkpoint checkpoint, WeightProfile profile) {
        TensorPlan plan = new TensorPlan(checkpoint, profile);
        ModelConfig config = checkpoint.config();
        ExpectedTensors.walk(config, config.mtpLayers() > 0, plan);
        return List.copyOf(plan.entries);
    }

    @Override
    public void matrix(String name, long rows, long columns) {
        int inputs = Math.toIntExact(columns);
        entries.add(new Entry(name, format(name, inputs), Math.toIntExact(rows), inputs, false));
    }

    private QuantFormat format(String name, int columns) {
        MatrixRole role = MatrixRole.of(name)
                .orElseThrow(() -> new IllegalArgumentException(name + " (expected: a matrix of the model)"));
        boolean halves = profile != WeightProfile.CHECKPOINT
                && role == MatrixRole.EMBEDDING
                && checkpoint.isStoredAs(name, TensorType.BF16);
        return halves ? QuantFormat.BF16 : profile.format(role, name, columns).orElse(QuantFormat.F32);
    }

    @Override
    public void vector(String name, long size) {
        entries.add(new Entry(name, QuantFormat.F32, 1, Math.toIntExact(size), true));
    }

    @Override
    public void optionalMatrix(String name, long rows, long columns) {
        if (name.equals("lm_head.weight")) {
            matrix(name, rows, columns);
        }
    }
}
