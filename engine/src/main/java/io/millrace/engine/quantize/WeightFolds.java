package io.millrace.engine.quantize;

import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.checkpoint.WeightRotation;
import io.millrace.engine.checkpoint.WeightRotation.Stream;
import io.millrace.kernels.MlaShape;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// What is folded into which tensor: a rotation, as [WeightRotation] says, and the scales of the inner
/// channels of feed-forwards. Thread-safe.
final class WeightFolds {
    private static final String LAYERS = "model.layers.";
    private static final String INPUT_NORM = "input_layernorm.weight";
    private static final String GATE = ".gate_proj.weight";
    private static final String UP = ".up_proj.weight";
    private static final String DOWN = ".down_proj.weight";
    private static final Set<String> FOLDED_GAINS = Set.of(
            INPUT_NORM,
            "post_attention_layernorm.weight",
            "self_attn.q_a_layernorm.weight",
            "self_attn.kv_a_layernorm.weight",
            "enorm.weight");

    private final Checkpoint checkpoint;
    private final ModelConfig config;
    private final @Nullable WeightRotation rotation;
    private final @Nullable InnerScales scales;

    /// @param rotation  null for none
    /// @param scaled    whether inner channels are scaled
    WeightFolds(Checkpoint checkpoint, @Nullable WeightRotation rotation, boolean scaled) {
        this.checkpoint = checkpoint;
        this.config = checkpoint.config();
        this.rotation = rotation;
        this.scales = scaled ? new InnerScales(checkpoint) : null;
    }

    /// The folds of a matrix.
    MatrixFold of(String name) {
        int layer = layerPrefix(name).length();
        String prefix = name.substring(0, layer);
        String tail = name.substring(layer);
        if (rotation == null) {
            return unrotated(prefix, tail);
        }
        return switch (tail) {
            case "model.embed_tokens.weight" -> MatrixFold.ofColumns(stream(rotation, null));
            case "lm_head.weight" -> MatrixFold.ofColumns(state(rotation, 0));
            case "self_attn.q_a_proj.weight" ->
                new MatrixFold(
                        List.of(stream(rotation, prefix + INPUT_NORM)),
                        List.of(new RowFold(0, rotation.queryBlock(), querySigns(rotation))));
            case "self_attn.kv_a_proj_with_mqa.weight" ->
                new MatrixFold(
                        List.of(stream(rotation, prefix + INPUT_NORM)),
                        List.of(new RowFold(0, rotation.latentBlock(), latentSigns(rotation))));
            case "self_attn.indexer.wk.weight", "self_attn.indexer.weights_proj.weight" ->
                MatrixFold.ofColumns(stream(rotation, prefix + INPUT_NORM));
            case "self_attn.q_b_proj.weight", "self_attn.indexer.wq_b.weight" ->
                MatrixFold.ofColumns(
                        reader(rotation.queryBlock(), querySigns(rotation), prefix + "self_attn.q_a_layernorm.weight"));
            case "self_attn.kv_b_proj.weight" ->
                new MatrixFold(
                        List.of(reader(
                                rotation.latentBlock(),
                                latentSigns(rotation),
                                prefix + "self_attn.kv_a_layernorm.weight")),
                        values(rotation));
            case "self_attn.o_proj.weight" -> output(rotation, heads(rotation));
            case "mlp.gate.weight" -> MatrixFold.ofColumns(stream(rotation, post(prefix)));
            case "eh_proj.weight" ->
                output(rotation, stream(rotation, prefix + "enorm.weight"), state(rotation, config.hiddenSize()));
            default -> feedForward(rotation, prefix, tail);
        };
    }

    /// A vector as the folded model has it: ones where its gain was folded into the matrices behind it.
    float[] vector(String name) {
        String tail = name.substring(layerPrefix(name).length());
        float[] values = gains(name);
        if (rotation != null && FOLDED_GAINS.contains(tail)) {
            Arrays.fill(values, 1);
        }
        return values;
    }

    private static String layerPrefix(String name) {
        return name.startsWith(LAYERS) ? name.substring(0, name.indexOf('.', LAYERS.length()) + 1) : "";
    }

    private static String post(String prefix) {
        return prefix + "post_attention_layernorm.weight";
    }

    private MatrixFold feedForward(WeightRotation turn, String prefix, String tail) {
        boolean routed = tail.startsWith("mlp.experts.");
        boolean shared = tail.startsWith("mlp.shared_experts.");
        int block = routed ? turn.expertBlock() : shared ? turn.sharedBlock() : turn.denseBlock();
        ColumnFold stream = stream(turn, post(prefix));
        if (tail.endsWith(GATE)) {
            return MatrixFold.ofColumns(stream);
        }
        if (!isInner(tail)) {
            throw new IllegalArgumentException("tensor: " + prefix + tail + " (expected: a matrix of the model)");
        }
        float[] scale = turn.signs(Stream.INNER, innerWidth(tail));
        scaleInner(scale, prefix, tail);
        return tail.endsWith(UP)
                ? new MatrixFold(List.of(stream), List.of(new RowFold(0, 1, inverse(scale))))
                : output(turn, new ColumnFold(0, scale.length, block, scale));
    }

    private MatrixFold unrotated(String prefix, String tail) {
        if (scales == null || !isInner(tail)) {
            return MatrixFold.NONE;
        }
        float[] scale = new float[innerWidth(tail)];
        Arrays.fill(scale, 1);
        scaleInner(scale, prefix, tail);
        return tail.endsWith(UP)
                ? new MatrixFold(List.of(), List.of(new RowFold(0, 1, inverse(scale))))
                : MatrixFold.ofColumns(new ColumnFold(0, scale.length, 1, scale));
    }

    /// Whether a matrix writes or reads the inner activations of a feed-forward, up to the gate.
    private static boolean isInner(String tail) {
        return tail.endsWith(UP) || tail.endsWith(DOWN);
    }

    private int innerWidth(String tail) {
        if (tail.startsWith("mlp.experts.")) {
            return config.moeIntermediateSize();
        }
        return tail.startsWith("mlp.shared_experts.")
                ? config.sharedExperts() * config.moeIntermediateSize()
                : config.intermediateSize();
    }

    private void scaleInner(float[] signs, String prefix, String tail) {
        if (scales != null) {
            String unit = prefix + tail.substring(0, tail.length() - (tail.endsWith(UP) ? UP : DOWN).length() + 1);
            float[] scale = scales.of(unit, gains(post(prefix)));
            for (int i = 0; i < signs.length; i++) {
                signs[i] *= scale[i];
            }
        }
    }

    private static float[] inverse(float[] scale) {
        float[] inverse = new float[scale.length];
        for (int i = 0; i < scale.length; i++) {
            inverse[i] = 1 / scale[i];
        }
        return inverse;
    }

    /// Writes to the residual stream.
    private MatrixFold output(WeightRotation turn, ColumnFold... columns) {
        float[] signs = turn.signs(Stream.RESIDUAL, config.hiddenSize());
        return new MatrixFold(List.of(columns), List.of(new RowFold(0, turn.residualBlock(), signs)));
    }

    /// Reads the residual stream, through a norm's gain or without.
    private ColumnFold stream(WeightRotation turn, @Nullable String gain) {
        return reader(turn.residualBlock(), turn.signs(Stream.RESIDUAL, config.hiddenSize()), gain);
    }

    private ColumnFold reader(int block, float[] scale, @Nullable String gain) {
        if (gain != null) {
            float[] gains = gains(gain);
            for (int i = 0; i < scale.length; i++) {
                scale[i] *= gains[i];
            }
        }
        return new ColumnFold(0, scale.length, block, scale);
    }

    private float[] querySigns(WeightRotation turn) {
        return turn.signs(Stream.QUERY, config.mlaShape().qLoraRank());
    }

    private float[] latentSigns(WeightRotation turn) {
        return turn.signs(Stream.LATENT, config.mlaShape().kvLoraRank());
    }

    /// Reads a true state, rotated at run time.
    private ColumnFold state(WeightRotation turn, int from) {
        return new ColumnFold(from, config.hiddenSize(), turn.residualBlock(), null);
    }

    private List<RowFold> values(WeightRotation turn) {
        MlaShape shape = config.mlaShape();
        List<RowFold> folds = new ArrayList<>();
        for (int head = 0; head < shape.heads(); head++) {
            int from = head * (shape.nopeDim() + shape.vDim()) + shape.nopeDim();
            folds.add(new RowFold(from, turn.valueBlock(), turn.signs(Stream.VALUE, shape.vDim())));
        }
        return folds;
    }

    private ColumnFold heads(WeightRotation turn) {
        int vDim = config.mlaShape().vDim();
        float[] head = turn.signs(Stream.VALUE, vDim);
        float[] signs = new float[config.heads() * vDim];
        for (int i = 0; i < signs.length; i++) {
            signs[i] = head[i % vDim];
        }
        return new ColumnFold(0, signs.length, turn.valueBlock(), signs);
    }

    private float[] gains(String name) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment gains = checkpoint.vector(name, arena);
            return gains.toArray(ValueLayout.JAVA_FLOAT);
        }
    }
}
