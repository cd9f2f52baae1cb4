package io.millrace.engine.quantize;

import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.engine.checkpoint.WeightRotation;
import io.millrace.engine.profile.WeightProfile;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/// Writes `config.json` of the new checkpoint: the source's keys, with `quantization_config` in
/// compressed-tensors conventions and the rotation.
final class QuantizedConfig {
    private static final List<String> INT8_TARGETS = List.of(
            "re:.*self_attn\\.(q_a_proj|q_b_proj|kv_a_proj_with_mqa|kv_b_proj|o_proj)$",
            "re:.*self_attn\\.indexer\\.(wq_b|wk)$",
            "re:.*mlp\\.(shared_experts\\.)?(gate|up|down)_proj$",
            "re:.*eh_proj$",
            "lm_head");
    private static final String EXPERTS = "re:.*mlp\\.experts\\.\\d+\\.(gate|up|down)_proj$";
    private static final String SUFFIX = ".weight";

    private final JsonMapper json = new JsonMapper();
    private final Checkpoint checkpoint;
    private final WeightProfile profile;
    private final @Nullable WeightRotation rotation;

    QuantizedConfig(Checkpoint checkpoint, WeightProfile profile, @Nullable WeightRotation rotation) {
        this.checkpoint = checkpoint;
        this.profile = profile;
        this.rotation = rotation;
    }

    /// @param plan  tensors of the new checkpoint
    byte[] bytes(List<TensorPlan.Entry> plan) {
        ObjectNode config = (ObjectNode) json.readTree(checkpoint.configJson());
        config.remove("quantization_config");
        config.put("tie_word_embeddings", false);
        if (rotation != null) {
            ObjectNode node = config.putObject(WeightRotation.KEY);
            node.put("version", WeightRotation.VERSION);
            node.put("seed", rotation.seed());
            node.put("residual_block", rotation.residualBlock());
            node.put("query_block", rotation.queryBlock());
            node.put("latent_block", rotation.latentBlock());
            node.put("value_block", rotation.valueBlock());
            node.put("dense_block", rotation.denseBlock());
            node.put("expert_block", rotation.expertBlock());
            node.put("shared_block", rotation.sharedBlock());
        }
        if (profile != WeightProfile.CHECKPOINT) {
            quantization(config.putObject("quantization_config"), plan);
        }
        return json.writerWithDefaultPrettyPrinter().writeValueAsBytes(config);
    }

    private void quantization(ObjectNode node, List<TensorPlan.Entry> plan) {
        boolean mixed = profile == WeightProfile.W4A8;
        node.put("quant_method", "compressed-tensors");
        node.put("format", mixed ? "mixed-precision" : "int-quantized");
        node.put("quantization_status", "compressed");
        node.putNull("global_compression_ratio");
        node.putNull("kv_cache_scheme");
        ObjectNode groups = node.putObject("config_groups");
        ObjectNode int8 = groups.putObject("group_0");
        ArrayNode targets = int8.putArray("targets");
        INT8_TARGETS.forEach(targets::add);
        weights(int8.put("format", "int-quantized"), 8, 0);
        if (mixed) {
            ObjectNode int4 = groups.putObject("group_1");
            int4.putArray("targets").add(EXPERTS);
            weights(int4.put("format", "pack-quantized"), 4, WeightProfile.INT4_GROUP);
        } else {
            targets.add(EXPERTS);
        }
        ArrayNode ignore = node.putArray("ignore");
        for (TensorPlan.Entry entry : plan) {
            boolean multiplied = !entry.vector() && !entry.name().endsWith("embed_tokens.weight");
            if (multiplied && !entry.format().isInteger()) {
                ignore.add(entry.name().substring(0, entry.name().length() - SUFFIX.length()));
            }
        }
    }

    private static void weights(ObjectNode group, int bits, int size) {
        ObjectNode weights = group.putObject("weights");
        weights.put("num_bits", bits).put("type", "int").put("symmetric", true);
        if (size > 0) {
            weights.put("strategy", "group").put("group_size", size);
        } else {
            weights.put("strategy", "channel").putNull("group_size");
        }
        weights.put("dynamic", false).putNull("actorder");
        group.putObject("input_activations")
                .put("num_bits", 8)
                .put("type", "int")
                .put("symmetric", true)
                .put("strategy", "token")
                .put("dynamic", true);
        group.putNull("output_activations");
    }
}
