package io.millrace.engine.checkpoint;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/// A `config.json` small enough for a checkpoint of some kilobytes, whose keys a test can change.
final class TinyConfig {
    private final Map<String, String> keys = new TreeMap<>();

    private TinyConfig() {}

    static TinyConfig glm() {
        TinyConfig config = new TinyConfig();
        config.keys.putAll(Map.of(
                "model_type", "\"glm_moe_dsa\"",
                "vocab_size", "32",
                "hidden_size", "16",
                "num_hidden_layers", "3",
                "intermediate_size", "20",
                "moe_intermediate_size", "12",
                "num_attention_heads", "2",
                "q_lora_rank", "10",
                "kv_lora_rank", "6"));
        config.keys.putAll(Map.of(
                "qk_nope_head_dim", "4",
                "qk_rope_head_dim", "4",
                "v_head_dim", "5",
                "index_n_heads", "2",
                "index_head_dim", "8",
                "index_topk", "4",
                "n_routed_experts", "4",
                "n_shared_experts", "1",
                "num_experts_per_tok", "2"));
        config.keys.putAll(Map.of(
                "n_group", "1",
                "topk_group", "1",
                "routed_scaling_factor", "2.5",
                "first_k_dense_replace", "1",
                "rms_norm_eps", "1e-5",
                "rope_parameters", "{\"rope_theta\":10000.0,\"rope_type\":\"default\"}",
                "max_position_embeddings", "128",
                "num_nextn_predict_layers", "1",
                "eos_token_id", "[1, 2]"));
        return config;
    }

    static TinyConfig deepseek() {
        return glm().with("model_type", "\"deepseek_v32\"")
                .with("n_group", "2")
                .without("rope_parameters")
                .with("rope_theta", "10000")
                .with("rope_scaling", """
                        {"type":"yarn","factor":40,"beta_fast":32,"beta_slow":1,"mscale":1.0,"mscale_all_dim":1.0,
                        "original_max_position_embeddings":4096}""")
                .with("eos_token_id", "1");
    }

    TinyConfig with(String key, String json) {
        keys.put(key, json);
        return this;
    }

    TinyConfig without(String key) {
        keys.remove(key);
        return this;
    }

    List<String> keyNames() {
        return new ArrayList<>(keys.keySet());
    }

    String json() {
        StringBuilder json = new StringBuilder();
        keys.forEach((key, value) -> json.append(json.isEmpty() ? "{" : ",\n")
                .append('"')
                .append(key)
                .append("\": ")
                .append(value));
        return json.append("}\n").toString();
    }
}
