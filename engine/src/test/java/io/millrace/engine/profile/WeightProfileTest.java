package io.millrace.engine.profile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.millrace.kernels.QuantFormat;
import java.util.EnumSet;
import java.util.Map;
import org.junit.jupiter.api.Test;

class WeightProfileTest {

    @Test
    void checkpointKeepsWhatIsStoredButForTheGate() {
        for (MatrixRole role : EnumSet.complementOf(EnumSet.of(MatrixRole.ROUTER_GATE))) {
            assertThat(WeightProfile.CHECKPOINT.format(role)).as(role.name()).isEmpty();
        }
        assertThat(WeightProfile.CHECKPOINT.format(MatrixRole.ROUTER_GATE)).contains(QuantFormat.F32);
    }

    @Test
    void otherProfilesRoundAllButEmbeddingGateAndHeadWeights() {
        Map<WeightProfile, QuantFormat> dense = Map.of(
                WeightProfile.BF16, QuantFormat.BF16,
                WeightProfile.W8A8, QuantFormat.W8A8,
                WeightProfile.W4A8, QuantFormat.W8A8);
        dense.forEach((profile, format) -> {
            for (MatrixRole role : MatrixRole.values()) {
                switch (role) {
                    case EMBEDDING -> assertThat(profile.format(role)).isEmpty();
                    case ROUTER_GATE, INDEXER_HEAD_WEIGHTS ->
                        assertThat(profile.format(role)).contains(QuantFormat.F32);
                    case ROUTED_EXPERT ->
                        assertThat(profile.format(role))
                                .contains(profile == WeightProfile.W4A8 ? QuantFormat.W4A8 : format);
                    case HEAD, ATTENTION, KEY_VALUE_UP, INDEXER, DENSE_MLP, SHARED_EXPERT, MTP_PROJECTION ->
                        assertThat(profile.format(role)).contains(format);
                }
            }
        });
    }

    @Test
    void namesAreReadBack() {
        for (WeightProfile profile : WeightProfile.values()) {
            assertThat(WeightProfile.of(profile.id())).isEqualTo(profile);
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WeightProfile.of("W8A8"))
                .withMessageContaining("checkpoint, bf16, w8a8 or w4a8");
    }

    @Test
    void rolesFollowFromTensorNames() {
        Map<String, MatrixRole> roles = Map.ofEntries(
                Map.entry("model.embed_tokens.weight", MatrixRole.EMBEDDING),
                Map.entry("lm_head.weight", MatrixRole.HEAD),
                Map.entry("model.layers.3.mlp.gate.weight", MatrixRole.ROUTER_GATE),
                Map.entry("model.layers.12.self_attn.kv_a_proj_with_mqa.weight", MatrixRole.ATTENTION),
                Map.entry("model.layers.0.self_attn.o_proj.weight", MatrixRole.ATTENTION),
                Map.entry("model.layers.0.self_attn.kv_b_proj.weight", MatrixRole.KEY_VALUE_UP),
                Map.entry("model.layers.0.self_attn.indexer.wk.weight", MatrixRole.INDEXER),
                Map.entry("model.layers.0.self_attn.indexer.weights_proj.weight", MatrixRole.INDEXER_HEAD_WEIGHTS),
                Map.entry("model.layers.0.mlp.down_proj.weight", MatrixRole.DENSE_MLP),
                Map.entry("model.layers.7.mlp.experts.255.up_proj.weight", MatrixRole.ROUTED_EXPERT),
                Map.entry("model.layers.7.mlp.shared_experts.up_proj.weight", MatrixRole.SHARED_EXPERT),
                Map.entry("model.layers.78.eh_proj.weight", MatrixRole.MTP_PROJECTION));
        roles.forEach((name, role) -> assertThat(MatrixRole.of(name)).as(name).contains(role));
        assertThat(MatrixRole.of("model.norm.weight")).isEmpty();
        assertThat(MatrixRole.of("model.layers.0.input_layernorm.weight")).isEmpty();
        assertThat(MatrixRole.of("model.layers.0.mlp.other_proj.weight")).isEmpty();
    }
}
