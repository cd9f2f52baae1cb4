package io.millrace.engine.model;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.checkpoint.WeightRotation;
import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.IndexerWeights;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.MlaWeights;
import io.millrace.kernels.MoeWeights;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.WeightSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToIntFunction;

/// Packs a checkpoint tensor by tensor into one arena. Converted copies live no longer than the packing
/// of their tensor.
final class WeightLoader {
    private final Checkpoint checkpoint;
    private final ModelConfig config;
    private final Kernels kernels;
    private final MlaForm form;
    private final int topK;
    private final Arena arena;

    /// @param form  form of attention; only its half of W_UK is packed
    /// @param topK  slots a row selects
    WeightLoader(Checkpoint checkpoint, Kernels kernels, MlaForm form, int topK, Arena arena) {
        this.checkpoint = checkpoint;
        this.config = checkpoint.config();
        this.kernels = kernels;
        this.form = form;
        this.topK = topK;
        this.arena = arena;
    }

    ModelWeights load(LoadProgress progress) {
        int parts = config.layers() + config.mtpLayers() + 1;
        List<LayerWeights> layers = new ArrayList<>(config.layers());
        for (int layer = 0; layer < config.layers(); layer++) {
            layers.add(layer(layer));
            progress.packed("layer " + layer, layer + 1, parts);
        }
        MtpWeights mtp = null;
        if (config.mtpLayers() > 0) {
            mtp = mtp(config.layers());
            progress.packed("multi-token-prediction layer", config.layers() + 1, parts);
        }
        String headName = config.tiedEmbeddings() ? "model.embed_tokens.weight" : "lm_head.weight";
        ModelWeights weights = new ModelWeights(
                embedding(),
                List.copyOf(layers),
                stateNorm("model.norm.weight"),
                stateRotation(),
                matrix(headName),
                mtp);
        progress.packed("embedding and head", parts, parts);
        return weights;
    }

    private Embedding embedding() {
        try (Arena temporary = Arena.ofShared()) {
            return Embedding.copyOf(checkpoint.matrix("model.embed_tokens.weight", temporary), arena);
        }
    }

    private LayerWeights layer(int number) {
        String prefix = "model.layers." + number + ".";
        FeedForward feedForward = config.isDense(number)
                ? new FeedForward.Dense(mlp(prefix + "mlp.", block(WeightRotation::denseBlock)))
                : new FeedForward.Experts(experts(prefix + "mlp."));
        return new LayerWeights(
                attention(prefix),
                config.ownsIndexer(number) ? indexer(prefix + "self_attn.indexer.") : null,
                vector(prefix + "post_attention_layernorm.weight"),
                feedForward);
    }

    private MtpWeights mtp(int number) {
        String prefix = "model.layers." + number + ".";
        return new MtpWeights(
                vector(prefix + "enorm.weight"),
                vector(prefix + "hnorm.weight"),
                matrix(prefix + "eh_proj.weight"),
                layer(number),
                stateNorm(prefix + "shared_head.norm.weight"));
    }

    private MlaWeights attention(String prefix) {
        String self = prefix + "self_attn.";
        MlaShape shape = config.mlaShape();
        List<PackedMatrix> keyUp = new ArrayList<>();
        List<PackedMatrix> keyAbsorb = new ArrayList<>();
        List<PackedMatrix> valueUp = new ArrayList<>();
        try (Arena temporary = Arena.ofShared()) {
            // kv_b_proj: per head, nopeDim rows of W_UK, then vDim rows of W_UV
            WeightSource keysAndValues = checkpoint.weight(self + "kv_b_proj.weight", temporary);
            for (int head = 0; head < shape.heads(); head++) {
                int row = head * (shape.nopeDim() + shape.vDim());
                WeightSource key = keysAndValues.rowRange(row, shape.nopeDim());
                switch (form) {
                    case ABSORBED -> keyAbsorb.add(kernels.pack(key.transposed(), arena));
                    case NAIVE -> keyUp.add(kernels.pack(key, arena));
                }
                valueUp.add(kernels.pack(keysAndValues.rowRange(row + shape.nopeDim(), shape.vDim()), arena));
            }
        }
        return new MlaWeights(
                shape,
                vector(prefix + "input_layernorm.weight"),
                matrix(self + "q_a_proj.weight"),
                vector(self + "q_a_layernorm.weight"),
                matrix(self + "q_b_proj.weight"),
                matrix(self + "kv_a_proj_with_mqa.weight"),
                vector(self + "kv_a_layernorm.weight"),
                List.copyOf(keyUp),
                List.copyOf(keyAbsorb),
                List.copyOf(valueUp),
                matrix(self + "o_proj.weight"));
    }

    private IndexerWeights indexer(String prefix) {
        return new IndexerWeights(
                config.indexer().heads(),
                config.indexer().headDim(),
                topK,
                config.indexer().ropeStyle(),
                matrix(prefix + "wq_b.weight"),
                matrix(prefix + "wk.weight"),
                vector(prefix + "k_norm.weight"),
                vector(prefix + "k_norm.bias"),
                matrix(prefix + "weights_proj.weight"));
    }

    private MoeWeights experts(String prefix) {
        List<GatedMlpWeights> experts = new ArrayList<>(config.gating().experts());
        for (int expert = 0; expert < config.gating().experts(); expert++) {
            experts.add(mlp(prefix + "experts." + expert + ".", block(WeightRotation::expertBlock)));
        }
        return new MoeWeights(
                config.gating(),
                gate(prefix + "gate.weight"),
                vector(prefix + "gate.e_score_correction_bias"),
                List.copyOf(experts),
                mlp(prefix + "shared_experts.", block(WeightRotation::sharedBlock)));
    }

    private GatedMlpWeights mlp(String prefix, int rotation) {
        return new GatedMlpWeights(
                matrix(prefix + "gate_proj.weight"),
                matrix(prefix + "up_proj.weight"),
                matrix(prefix + "down_proj.weight"),
                rotation);
    }

    private int block(ToIntFunction<WeightRotation> part) {
        return config.rotation().stream().mapToInt(part).findFirst().orElse(1);
    }

    private StateNorm stateNorm(String name) {
        MemorySegment gain = vector(name);
        WeightRotation rotation = config.weightRotation();
        if (rotation == null) {
            return new StateNorm(gain, 1, null);
        }
        float[] signs = rotation.signs(WeightRotation.Stream.RESIDUAL, config.hiddenSize());
        for (int i = 0; i < signs.length; i++) {
            gain.setAtIndex(JAVA_FLOAT, i, gain.getAtIndex(JAVA_FLOAT, i) * signs[i]);
        }
        return new StateNorm(ones(), rotation.residualBlock(), gain);
    }

    private StateRotation stateRotation() {
        return new StateRotation(block(WeightRotation::residualBlock), ones());
    }

    private MemorySegment ones() {
        MemorySegment ones = Scratch.floats(arena, config.hiddenSize());
        for (int i = 0; i < config.hiddenSize(); i++) {
            ones.setAtIndex(JAVA_FLOAT, i, 1);
        }
        return ones;
    }

    private PackedMatrix matrix(String name) {
        try (Arena temporary = Arena.ofShared()) {
            return kernels.pack(checkpoint.weight(name, temporary), arena);
        }
    }

    private MemorySegment vector(String name) {
        return checkpoint.vector(name, arena);
    }

    // The gate is computed in float32 whatever it is stored in.
    private PackedMatrix gate(String name) {
        try (Arena temporary = Arena.ofShared()) {
            return kernels.pack(widened(checkpoint.matrix(name, temporary), temporary), arena);
        }
    }

    private static MatrixView widened(MatrixView matrix, Arena temporary) {
        return switch (matrix.format()) {
            case F32 -> matrix;
            case BF16 -> {
                int rows = matrix.rows();
                int columns = matrix.columns();
                MemorySegment wide = Scratch.floats(temporary, (long) rows * columns);
                for (int row = 0; row < rows; row++) {
                    for (int column = 0; column < columns; column++) {
                        long from = matrix.offset() + row * matrix.rowStride() + column * matrix.columnStride();
                        int bits = matrix.data().get(JAVA_SHORT_UNALIGNED, from * Short.BYTES) << 16;
                        wide.setAtIndex(JAVA_FLOAT, (long) row * columns + column, Float.intBitsToFloat(bits));
                    }
                }
                yield MatrixView.rowMajor(QuantFormat.F32, wide, rows, columns);
            }
            case W8A8, W4A8 -> throw new IllegalStateException("gate in " + matrix.format());
        };
    }
}
