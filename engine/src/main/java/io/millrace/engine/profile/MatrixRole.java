package io.millrace.engine.profile;

import java.util.Optional;
import java.util.regex.Pattern;

/// What a weight matrix does in the model; its number format follows from it.
public enum MatrixRole {
    /// Token embedding, looked up and never multiplied.
    EMBEDDING,
    /// `lm_head`.
    HEAD,
    /// Gate that picks experts.
    ROUTER_GATE,
    /// `q_a`, `q_b`, `kv_a` and `o` projections of attention.
    ATTENTION,
    /// `kv_b`: per head W_UK, then W_UV.
    KEY_VALUE_UP,
    /// Query and key projections of the indexer.
    INDEXER,
    /// Head weights of the indexer, `weights_proj`.
    INDEXER_HEAD_WEIGHTS,
    /// Feed-forward of a dense layer.
    DENSE_MLP,
    /// Shared experts.
    SHARED_EXPERT,
    /// One of the experts that the gate picks.
    ROUTED_EXPERT,
    /// `eh_proj` of the multi-token-prediction layer.
    MTP_PROJECTION;

    private static final Pattern ATTENTION_NAME =
            Pattern.compile("self_attn\\.(q_a_proj|q_b_proj|kv_a_proj_with_mqa|o_proj)\\.weight");
    private static final Pattern MLP_NAME =
            Pattern.compile("mlp\\.((experts\\.\\d+|shared_experts)\\.)?(gate|up|down)_proj\\.weight");
    private static final Pattern LAYER = Pattern.compile("model\\.layers\\.\\d+\\.");

    /// The role of a tensor of a checkpoint by its name; empty for vectors and names that no model has.
    public static Optional<MatrixRole> of(String tensor) {
        var layer = LAYER.matcher(tensor);
        if (!layer.lookingAt()) {
            return switch (tensor) {
                case "model.embed_tokens.weight" -> Optional.of(EMBEDDING);
                case "lm_head.weight" -> Optional.of(HEAD);
                default -> Optional.empty();
            };
        }
        String name = tensor.substring(layer.end());
        return switch (name) {
            case "mlp.gate.weight" -> Optional.of(ROUTER_GATE);
            case "self_attn.kv_b_proj.weight" -> Optional.of(KEY_VALUE_UP);
            case "self_attn.indexer.wq_b.weight", "self_attn.indexer.wk.weight" -> Optional.of(INDEXER);
            case "self_attn.indexer.weights_proj.weight" -> Optional.of(INDEXER_HEAD_WEIGHTS);
            case "eh_proj.weight" -> Optional.of(MTP_PROJECTION);
            default -> ATTENTION_NAME.matcher(name).matches() ? Optional.of(ATTENTION) : feedForward(name);
        };
    }

    private static Optional<MatrixRole> feedForward(String name) {
        if (!MLP_NAME.matcher(name).matches()) {
            return Optional.empty();
        }
        if (name.startsWith("mlp.experts.")) {
            return Optional.of(ROUTED_EXPERT);
        }
        return Optional.of(name.startsWith("mlp.shared_experts.") ? SHARED_EXPERT : DENSE_MLP);
    }
}
