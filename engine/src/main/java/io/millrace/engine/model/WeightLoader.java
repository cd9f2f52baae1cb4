package io.millrace.engine.model;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import io.millrace.engine.checkpoint.IndexerShape;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.checkpoint.WeightRotation;
import io.millrace.engine.pack.MatrixPart;
import io.millrace.engine.pack.MatrixSpec;
import io.millrace.engine.pack.VectorSpec;
import io.millrace.engine.pack.WeightSlots;
import io.millrace.engine.profile.MatrixRole;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.IndexerWeights;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.MlaWeights;
import io.millrace.kernels.MoeWeights;
import io.millrace.kernels.PackedMatrices;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.RoutedExperts;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToIntFunction;

/// Asks for every weight of a model, always in the same order: once to plan what is packed, once to take
/// what was packed. This is the one place that knows names, shapes and which parts are packed apart.
final class WeightLoader {
    private final ModelConfig config;
    private final WeightProfile profile;
    private final MlaForm form;
    private final int topK;
    private final WeightSlots slots;

    /// @param profile  number formats
    /// @param form     form of attention; only its half of W_UK is packed
    /// @param topK     slots a row selects
    /// @param slots    who is asked
    WeightLoader(ModelConfig config, WeightProfile profile, MlaForm form, int topK, WeightSlots slots) {
        this.config = config;
        this.profile = profile;
        this.form = form;
        this.topK = topK;
        this.slots = slots;
    }

    ModelWeights load() {
        int hidden = config.hiddenSize();
        List<LayerWeights> layers = new ArrayList<>(config.layers());
        for (int layer = 0; layer < config.layers(); layer++) {
            slots.section("layer " + layer);
            layers.add(layer(layer));
        }
        MtpWeights mtp = null;
        if (config.mtpLayers() > 0) {
            slots.section("multi-token-prediction layer");
            mtp = mtp(config.layers());
        }
        slots.section("embedding and head");
        return new ModelWeights(
                Embedding.of(slots.rows(spec("model.embed_tokens.weight", config.vocabSize(), hidden))),
                List.copyOf(layers),
                stateNorm("model.norm.weight"),
                new StateRotation(block(WeightRotation::residualBlock), ones()),
                matrix("lm_head.weight", config.vocabSize(), hidden),
                mtp);
    }

    private LayerWeights layer(int number) {
        String prefix = "model.layers." + number + ".";
        FeedForward feedForward = config.isDense(number)
                ? new FeedForward.Dense(
                        mlp(prefix + "mlp.", config.intermediateSize(), block(WeightRotation::denseBlock)))
                : new FeedForward.Experts(experts(prefix + "mlp."));
        return new LayerWeights(
                attention(prefix),
                config.ownsIndexer(number) ? indexer(prefix + "self_attn.indexer.") : null,
                vector(prefix + "post_attention_layernorm.weight", config.hiddenSize()),
                feedForward);
    }

    private MtpWeights mtp(int number) {
        String prefix = "model.layers." + number + ".";
        int hidden = config.hiddenSize();
        return new MtpWeights(
                vector(prefix + "enorm.weight", hidden),
                vector(prefix + "hnorm.weight", hidden),
                matrix(prefix + "eh_proj.weight", hidden, 2 * hidden),
                layer(number),
                stateNorm(prefix + "shared_head.norm.weight"));
    }

    private MlaWeights attention(String prefix) {
        String self = prefix + "self_attn.";
        MlaShape shape = config.mlaShape();
        int heads = shape.heads();
        int hidden = shape.hiddenSize();
        // kv_b_proj: per head, nopeDim rows of W_UK, then vDim rows of W_UV. Its rows are rounded before they
        // are cut and, in the absorbed form, transposed: the scales of W_UK then lie along the inputs.
        int headRows = shape.nopeDim() + shape.vDim();
        MatrixSpec keysAndValues = spec(self + "kv_b_proj.weight", heads * headRows, shape.kvLoraRank());
        List<PackedMatrix> keyUp = new ArrayList<>();
        List<PackedMatrix> keyAbsorb = new ArrayList<>();
        List<PackedMatrix> valueUp = new ArrayList<>();
        for (int head = 0; head < heads; head++) {
            int row = head * headRows;
            boolean absorbed = form == MlaForm.ABSORBED;
            PackedMatrix key = slots.matrix(keysAndValues, new MatrixPart(row, shape.nopeDim(), absorbed));
            (absorbed ? keyAbsorb : keyUp).add(key);
            valueUp.add(slots.matrix(keysAndValues, new MatrixPart(row + shape.nopeDim(), shape.vDim(), false)));
        }
        return new MlaWeights(
                shape,
                vector(prefix + "input_layernorm.weight", hidden),
                matrix(self + "q_a_proj.weight", shape.qLoraRank(), hidden),
                vector(self + "q_a_layernorm.weight", shape.qLoraRank()),
                matrix(self + "q_b_proj.weight", heads * (shape.nopeDim() + shape.ropeDim()), shape.qLoraRank()),
                matrix(self + "kv_a_proj_with_mqa.weight", shape.cacheRow(), hidden),
                vector(self + "kv_a_layernorm.weight", shape.kvLoraRank()),
                List.copyOf(keyUp),
                PackedMatrices.of(head -> self + "kv_b_proj, key of head " + head, keyAbsorb),
                PackedMatrices.of(head -> self + "kv_b_proj, value of head " + head, valueUp),
                matrix(self + "o_proj.weight", hidden, heads * shape.vDim()));
    }

    private IndexerWeights indexer(String prefix) {
        IndexerShape indexer = config.indexer();
        int hidden = config.hiddenSize();
        int queryWidth = indexer.heads() * indexer.headDim();
        return new IndexerWeights(
                indexer.heads(),
                indexer.headDim(),
                topK,
                indexer.ropeStyle(),
                matrix(prefix + "wq_b.weight", queryWidth, config.mlaShape().qLoraRank()),
                matrix(prefix + "wk.weight", indexer.headDim(), hidden),
                vector(prefix + "k_norm.weight", indexer.headDim()),
                vector(prefix + "k_norm.bias", indexer.headDim()),
                matrix(prefix + "weights_proj.weight", indexer.heads(), hidden));
    }

    private MoeWeights experts(String prefix) {
        int count = config.gating().experts();
        int width = config.moeIntermediateSize();
        List<GatedMlpWeights> experts = new ArrayList<>(count);
        for (int expert = 0; expert < count; expert++) {
            experts.add(mlp(prefix + "experts." + expert + ".", width, block(WeightRotation::expertBlock)));
        }
        return new MoeWeights(
                config.gating(),
                matrix(prefix + "gate.weight", count, config.hiddenSize()),
                vector(prefix + "gate.e_score_correction_bias", count),
                RoutedExperts.of(prefix + "experts.", experts),
                mlp(prefix + "shared_experts.", width * config.sharedExperts(), block(WeightRotation::sharedBlock)));
    }

    private GatedMlpWeights mlp(String prefix, int width, int rotation) {
        int hidden = config.hiddenSize();
        return new GatedMlpWeights(
                matrix(prefix + "gate_proj.weight", width, hidden),
                matrix(prefix + "up_proj.weight", width, hidden),
                matrix(prefix + "down_proj.weight", hidden, width),
                rotation);
    }

    private int block(ToIntFunction<WeightRotation> part) {
        return config.rotation().stream().mapToInt(part).findFirst().orElse(1);
    }

    private StateNorm stateNorm(String name) {
        MemorySegment gain = vector(name, config.hiddenSize());
        WeightRotation rotation = config.weightRotation();
        if (rotation == null) {
            return new StateNorm(gain, 1, null);
        }
        float[] signs = rotation.signs(WeightRotation.Stream.RESIDUAL, config.hiddenSize());
        MemorySegment back = slots.floats(signs.length);
        for (int i = 0; i < signs.length; i++) {
            back.setAtIndex(JAVA_FLOAT, i, gain.getAtIndex(JAVA_FLOAT, i) * signs[i]);
        }
        return new StateNorm(ones(), rotation.residualBlock(), back);
    }

    private MemorySegment ones() {
        MemorySegment ones = slots.floats(config.hiddenSize());
        for (int i = 0; i < config.hiddenSize(); i++) {
            ones.setAtIndex(JAVA_FLOAT, i, 1);
        }
        return ones;
    }

    private PackedMatrix matrix(String name, int rows, int columns) {
        return slots.matrix(spec(name, rows, columns));
    }

    private MemorySegment vector(String name, int size) {
        return slots.vector(new VectorSpec(name, size));
    }

    private MatrixSpec spec(String name, int rows, int columns) {
        MatrixRole role = MatrixRole.of(name).orElseThrow(() -> new IllegalStateException(name + " has no role"));
        return new MatrixSpec(
                name, role, rows, columns, profile.format(role, name, columns).orElse(null));
    }
}
