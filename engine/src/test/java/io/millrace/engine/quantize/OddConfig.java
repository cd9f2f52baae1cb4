package io.millrace.engine.quantize;

/// A configuration whose sizes are no powers of two.
final class OddConfig {
    static final String JSON = """
            {"model_type": "glm_moe_dsa", "vocab_size": 53, "hidden_size": 24, "num_hidden_layers": 3,
             "num_nextn_predict_layers": 1, "intermediate_size": 20, "moe_intermediate_size": 12,
             "num_attention_heads": 3, "q_lora_rank": 18, "kv_lora_rank": 14, "qk_nope_head_dim": 6,
             "qk_rope_head_dim": 4, "v_head_dim": 10, "index_n_heads": 3, "index_head_dim": 12,
             "index_topk": 80, "n_routed_experts": 5, "n_shared_experts": 2, "num_experts_per_tok": 2,
             "n_group": 1, "topk_group": 1, "routed_scaling_factor": 2.5, "first_k_dense_replace": 1,
             "rms_norm_eps": 1e-5, "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
             "max_position_embeddings": 128, "eos_token_id": [1]}
            """;

    private OddConfig() {}
}
