package io.millrace.engine.checkpoint;

import io.millrace.kernels.ExpertGating;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.RopeStyle;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;

/// Translates `config.json` into a [ModelConfig]. The caps keep every product of sizes far from overflow;
/// no published model comes near them.
final class ConfigReader {
    private static final String GLM = "glm_moe_dsa";
    private static final String DEEPSEEK = "deepseek_v32";

    private static final int MAX_VOCAB = 1 << 22;
    private static final int MAX_WIDTH = 1 << 18;
    private static final int MAX_LAYERS = 1024;
    private static final int MAX_HEADS = 1024;
    private static final int MAX_HEAD_DIM = 1024;
    private static final int MAX_RANK = 1 << 16;
    private static final int MAX_EXPERTS = 4096;
    private static final int MAX_POSITIONS = 1 << 27;
    private static final int MAX_STOP_IDS = 64;
    private static final double MAX_EPS = 0.1;

    private final JsonKeys keys;
    private final boolean glm;

    private ConfigReader(JsonKeys keys) {
        this.keys = keys;
        String modelType = keys.text("model_type");
        if (!modelType.equals(GLM) && !modelType.equals(DEEPSEEK)) {
            throw keys.invalid("model_type", InvalidCheckpoint.quote(modelType), GLM + " or " + DEEPSEEK);
        }
        this.glm = modelType.equals(GLM);
    }

    static ModelConfig read(JsonFile json) {
        return new ConfigReader(new JsonKeys(json.file(), "", json.root())).config();
    }

    private ModelConfig config() {
        refuseOtherMathematics();
        int layers = keys.integer("num_hidden_layers", 1, MAX_LAYERS);
        int vocabSize = keys.integer("vocab_size", 1, MAX_VOCAB);
        MlaShape withoutScale = attention(1);
        RopeScaling rope = new RopeReader(keys, withoutScale.ropeDim()).read();
        double headScale = 1 / Math.sqrt(withoutScale.nopeDim() + withoutScale.ropeDim());
        ExpertGating gating = gating();
        QuantizationReader quantization = new QuantizationReader(keys);
        return new ModelConfig(
                glm ? GLM : DEEPSEEK,
                vocabSize,
                withoutScale.hiddenSize(),
                layers,
                keys.optionalInteger("num_nextn_predict_layers", 0, 1).orElse(0),
                keys.integer("intermediate_size", 1, MAX_WIDTH),
                keys.integer("moe_intermediate_size", 1, MAX_WIDTH),
                keys.integer("n_shared_experts", 1, 64),
                gating,
                attention((float) (headScale * rope.softmaxFactor())),
                indexer(withoutScale.ropeDim()),
                traits(layers),
                rope,
                keys.integer("max_position_embeddings", 1, MAX_POSITIONS),
                keys.fact("tie_word_embeddings", false),
                keys.ids("eos_token_id", vocabSize, MAX_STOP_IDS),
                quantization.fp8(),
                quantization.integers(),
                rotation(withoutScale));
    }

    private @Nullable WeightRotation rotation(MlaShape mla) {
        if (!keys.has(WeightRotation.KEY)) {
            return null;
        }
        JsonKeys rotation = keys.child(WeightRotation.KEY);
        rotation.onlyKeys(WeightRotation.KEYS);
        rotation.integer("version", WeightRotation.VERSION, WeightRotation.VERSION);
        int expertWidth = keys.integer("moe_intermediate_size", 1, MAX_WIDTH);
        int sharedWidth = expertWidth * keys.integer("n_shared_experts", 1, 64);
        return new WeightRotation(
                rotation.integer("seed", 0, Integer.MAX_VALUE),
                block(rotation, "residual_block", mla.hiddenSize()),
                block(rotation, "query_block", mla.qLoraRank()),
                block(rotation, "latent_block", mla.kvLoraRank()),
                block(rotation, "value_block", mla.vDim()),
                block(rotation, "dense_block", keys.integer("intermediate_size", 1, MAX_WIDTH)),
                block(rotation, "expert_block", expertWidth),
                block(rotation, "shared_block", sharedWidth));
    }

    private static int block(JsonKeys rotation, String key, int width) {
        int block = rotation.integer(key, 1, width);
        if (Integer.bitCount(block) != 1 || width % block != 0) {
            throw rotation.invalid(key, String.valueOf(block), "a power of two that divides " + width);
        }
        return block;
    }

    private void refuseOtherMathematics() {
        onlyText("hidden_act", "silu");
        onlyText("scoring_func", "sigmoid");
        onlyText("topk_method", "noaux_tc");
        onlyText("moe_router_dtype", "float32");
        onlyFact("attention_bias", false);
        onlyFact("mlp_bias", false);
        keys.optionalInteger("moe_layer_freq", 1, 1);
    }

    private void onlyText(String key, String only) {
        if (keys.has(key) && !keys.text(key).equals(only)) {
            throw keys.invalid(key, InvalidCheckpoint.quote(keys.text(key)), only);
        }
    }

    private void onlyFact(String key, boolean only) {
        if (keys.fact(key, only) != only) {
            throw keys.invalid(key, String.valueOf(!only), String.valueOf(only));
        }
    }

    private MlaShape attention(float softmaxScale) {
        int heads = keys.integer("num_attention_heads", 1, MAX_HEADS);
        keys.optionalInteger("num_key_value_heads", heads, heads);
        int nopeDim = keys.integer("qk_nope_head_dim", 1, MAX_HEAD_DIM);
        int ropeDim = keys.integer("qk_rope_head_dim", 2, MAX_HEAD_DIM);
        if (ropeDim % 2 != 0) {
            throw keys.invalid("qk_rope_head_dim", String.valueOf(ropeDim), "an even number");
        }
        keys.optionalInteger("qk_head_dim", nopeDim + ropeDim, nopeDim + ropeDim);
        double rmsEps = keys.number("rms_norm_eps", 0, MAX_EPS);
        return new MlaShape(
                keys.integer("hidden_size", 1, MAX_WIDTH),
                heads,
                keys.integer("q_lora_rank", 1, MAX_RANK),
                keys.integer("kv_lora_rank", 1, MAX_RANK),
                nopeDim,
                ropeDim,
                keys.integer("v_head_dim", 1, MAX_HEAD_DIM),
                style("rope_interleave", true),
                (float) rmsEps,
                (float) keys.optionalNumber("latent_rms_norm_eps", 0, MAX_EPS).orElse(rmsEps),
                softmaxScale);
    }

    private RopeStyle style(String key, boolean interleavedIfAbsent) {
        return keys.fact(key, interleavedIfAbsent) ? RopeStyle.INTERLEAVED : RopeStyle.HALF_SPLIT;
    }

    // No row sees more slots than there are positions, so a larger selection only takes memory.
    private IndexerShape indexer(int ropeDim) {
        int topK = Math.min(
                keys.integer("index_topk", 1, MAX_POSITIONS),
                keys.integer("max_position_embeddings", 1, MAX_POSITIONS));
        return new IndexerShape(
                keys.integer("index_n_heads", 1, MAX_HEADS),
                keys.integer("index_head_dim", ropeDim, MAX_HEAD_DIM),
                topK,
                style("indexer_rope_interleave", glm),
                keys.fact("index_share_for_mtp_iteration", false));
    }

    private ExpertGating gating() {
        int experts = keys.integer("n_routed_experts", 1, MAX_EXPERTS);
        int groups = keys.integer("n_group", 1, experts);
        int topKGroups = keys.integer("topk_group", 1, groups);
        int perGroup = experts / groups;
        if (experts % groups != 0 || (groups > 1 && perGroup < 2)) {
            throw keys.invalid(
                    "n_group", String.valueOf(groups), "a divisor of " + experts + " with groups of 2 or more");
        }
        return new ExpertGating(
                experts,
                keys.integer("num_experts_per_tok", 1, topKGroups * perGroup),
                groups,
                topKGroups,
                keys.fact("norm_topk_prob", true),
                (float) keys.number("routed_scaling_factor", 0, 1e6));
    }

    private List<LayerTraits> traits(int layers) {
        boolean[] dense = dense(layers);
        boolean[] owns = ownsIndexer(layers);
        List<LayerTraits> result = new ArrayList<>(layers + 1);
        for (int i = 0; i < layers; i++) {
            result.add(new LayerTraits(dense[i], owns[i]));
        }
        result.add(new LayerTraits(false, true));
        return result;
    }

    private boolean[] dense(int layers) {
        boolean[] result = new boolean[layers];
        if (keys.has("mlp_layer_types")) {
            return marks("mlp_layer_types", layers, "dense", "sparse");
        }
        int first = keys.integer("first_k_dense_replace", 0, layers);
        for (int i = 0; i < first; i++) {
            result[i] = true;
        }
        return result;
    }

    private boolean[] ownsIndexer(int layers) {
        boolean[] result;
        String key;
        if (keys.has("indexer_types")) {
            key = "indexer_types";
            result = marks(key, layers, "full", "shared");
        } else if (keys.has("index_topk_pattern")) {
            key = "index_topk_pattern";
            result = pattern(key, layers);
        } else {
            key = "index_skip_topk_offset";
            result = new boolean[layers];
            int every = keys.optionalInteger("index_topk_freq", 1, MAX_LAYERS).orElse(1);
            int offset = keys.optionalInteger(key, 0, MAX_LAYERS).orElse(2);
            for (int i = 0; i < layers; i++) {
                result[i] = Math.max(i - offset + 1, 0) % every == 0;
            }
        }
        if (!result[0]) {
            throw keys.invalid(key, "layer 0 has no indexer", "an indexer in layer 0");
        }
        return result;
    }

    private boolean[] marks(String key, int layers, String yes, String no) {
        List<String> words = keys.texts(key, layers);
        boolean[] result = new boolean[layers];
        for (int i = 0; i < layers; i++) {
            String word = words.get(i);
            if (!word.equals(yes) && !word.equals(no)) {
                throw keys.invalid(key + "[" + i + "]", InvalidCheckpoint.quote(word), yes + " or " + no);
            }
            result[i] = word.equals(yes);
        }
        return result;
    }

    private boolean[] pattern(String key, int layers) {
        String letters = keys.text(key);
        if (letters.length() != layers || !letters.matches("[FS]*")) {
            throw keys.invalid(key, InvalidCheckpoint.quote(letters), layers + " letters F or S");
        }
        boolean[] result = new boolean[layers];
        for (int i = 0; i < layers; i++) {
            result[i] = letters.charAt(i) == 'F';
        }
        return result;
    }

    /// Reads the rotary embedding from `rope_parameters`, or from `rope_theta` and `rope_scaling`.
    private record RopeReader(JsonKeys keys, int dim) {
        private static final double MAX_THETA = 1e12;

        RopeScaling read() {
            if (keys.has("rope_parameters") && keys.has("rope_scaling")) {
                throw keys.invalid("rope_scaling", "given beside rope_parameters", "only one of the two");
            }
            String key = keys.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
            if (!keys.has(key)) {
                return new RopeScaling(
                        theta(keys).orElseThrow(() -> keys.invalid("rope_theta", "no value", "a number")), dim, null);
            }
            JsonKeys scaling = keys.child(key);
            OptionalDouble inner = theta(scaling);
            OptionalDouble outer = theta(keys);
            if (inner.isPresent() && outer.isPresent() && inner.getAsDouble() != outer.getAsDouble()) {
                throw keys.invalid("rope_theta", outer + " here, " + inner + " in " + key, "one value");
            }
            double theta = inner.isPresent()
                    ? inner.getAsDouble()
                    : outer.orElseThrow(() -> scaling.invalid("rope_theta", "no value", "a number"));
            return new RopeScaling(theta, dim, yarn(scaling));
        }

        private static OptionalDouble theta(JsonKeys keys) {
            return keys.optionalNumber("rope_theta", 1.000001, MAX_THETA);
        }

        private static RopeScaling.@Nullable Yarn yarn(JsonKeys scaling) {
            String type = scaling.text(scaling.has("rope_type") ? "rope_type" : "type");
            scaling.optionalNumber("partial_rotary_factor", 1, 1);
            if (type.equals("default")) {
                return null;
            }
            if (!type.equals("yarn")) {
                throw scaling.invalid("rope_type", InvalidCheckpoint.quote(type), "default or yarn");
            }
            if (!scaling.fact("truncate", true)) {
                throw scaling.invalid("truncate", "false", "true");
            }
            scaling.optionalNumber("attention_factor", 1, 1);
            double betaFast = scaling.optionalNumber("beta_fast", 1e-3, 1e6).orElse(32);
            double mscaleAllDim = scaling.number("mscale_all_dim", 1e-3, 1e3);
            // The rotation itself is scaled by mscale(mscale) / mscale(mscale_all_dim): 1 in every published model.
            scaling.number("mscale", mscaleAllDim, mscaleAllDim);
            return new RopeScaling.Yarn(
                    scaling.number("factor", 1, 1e6),
                    betaFast,
                    scaling.optionalNumber("beta_slow", 1e-3, betaFast).orElse(1),
                    mscaleAllDim,
                    scaling.integer("original_max_position_embeddings", 1, MAX_POSITIONS));
        }
    }
}
