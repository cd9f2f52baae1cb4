package io.millrace.engine.checkpoint;

import io.millrace.engine.error.NearestName;
import java.util.List;
import java.util.Optional;
import tools.jackson.databind.JsonNode;

/// Tells slips of the pen in a `config.json` from keys of other programs. Most keys are optional, so a
/// misspelt one would silently give another model. A key is refused if nobody knows it and it is near to
/// one that [ConfigReader] reads; any other unknown key may be there.
final class ConfigKeys {
    /// What the reader reads.
    static final List<String> READ = List.of(
            "attention_bias",
            "eos_token_id",
            "first_k_dense_replace",
            "hidden_act",
            "hidden_size",
            "index_head_dim",
            "index_n_heads",
            "index_share_for_mtp_iteration",
            "index_skip_topk_offset",
            "index_topk",
            "index_topk_freq",
            "index_topk_pattern",
            "indexer_rope_interleave",
            "indexer_types",
            "intermediate_size",
            "kv_lora_rank",
            "latent_rms_norm_eps",
            "max_position_embeddings",
            "mlp_bias",
            "mlp_layer_types",
            "model_type",
            "moe_intermediate_size",
            "moe_layer_freq",
            "moe_router_dtype",
            "n_group",
            "n_routed_experts",
            "n_shared_experts",
            "norm_topk_prob",
            "num_attention_heads",
            "num_experts_per_tok",
            "num_hidden_layers",
            "num_key_value_heads",
            "num_nextn_predict_layers",
            "q_lora_rank",
            "qk_head_dim",
            "qk_nope_head_dim",
            "qk_rope_head_dim",
            "quantization_config",
            "rms_norm_eps",
            "rope_interleave",
            "rope_parameters",
            "rope_scaling",
            "rope_theta",
            "routed_scaling_factor",
            "scoring_func",
            "tie_word_embeddings",
            "topk_group",
            "topk_method",
            "v_head_dim",
            "vocab_size",
            WeightRotation.KEY);

    /// What it reads of `rope_parameters` and `rope_scaling`.
    static final List<String> ROPE = List.of(
            "attention_factor",
            "beta_fast",
            "beta_slow",
            "factor",
            "mscale",
            "mscale_all_dim",
            "original_max_position_embeddings",
            "partial_rotary_factor",
            "rope_theta",
            "rope_type",
            "truncate",
            "type");

    /// Keys of other programs that look like one of these.
    private static final List<String> FOREIGN = List.of(
            "bos_token_id",
            "dtype",
            "head_dim",
            "layer_types",
            "mask_token_id",
            "pad_token_id",
            "sep_token_id",
            "unk_token_id",
            "eod_token_id",
            "eoh_token_id",
            "eom_token_id",
            "eot_token_id");

    private ConfigKeys() {}

    /// Refuses misspelt keys.
    ///
    /// @throws io.millrace.engine.error.MillraceException `INVALID_CHECKPOINT`, naming the key and the one
    /// that is meant
    static void requireSpelt(JsonFile json) {
        requireSpelt(new JsonKeys(json.file(), "", json.root()), READ);
        for (String rope : List.of("rope_parameters", "rope_scaling")) {
            JsonNode node = json.root().get(rope);
            if (node != null && node.isObject()) {
                requireSpelt(new JsonKeys(json.file(), rope + ".", node), ROPE);
            }
        }
    }

    private static void requireSpelt(JsonKeys keys, List<String> read) {
        for (String key : keys.object().propertyNames()) {
            if (!read.contains(key) && !FOREIGN.contains(key)) {
                Optional<String> meant = NearestName.of(key, read);
                if (meant.isPresent()) {
                    throw keys.invalid(InvalidCheckpoint.quote(key), "unknown key", meant.get());
                }
            }
        }
    }
}
