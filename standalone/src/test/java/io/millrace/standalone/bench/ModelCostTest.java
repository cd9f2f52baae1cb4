package io.millrace.standalone.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.nativecode.IsaLevel;
import io.millrace.kernels.nativecode.MachineLimits;
import io.millrace.kernels.nativecode.MachineLimits.Speeds;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

/// The embedded model's costs, computed by hand from its sizes: hidden 256, 6 layers (the first dense, 768 wide)
/// and an MTP layer, 4 heads of 32 + 32 and 64, latents 128 and 64, indexer 8 x 64 with 128 slots, 4 of 16
/// experts 64 wide and a shared one, 4096 ids.
class ModelCostTest {
    private static final ModelConfig MINI =
            ModelConfig.read(Path.of(System.getProperty("millrace.root", ".."), "models", "mini"));
    private static final Map<String, Long> TENSORS = Map.of(
            "model.embed_tokens.weight", 4096L * 10,
            "lm_head.weight", 7L,
            "model.norm.weight", 4L,
            "model.layers.1.mlp.experts.3.up_proj.weight", 1600L,
            "model.layers.6.mlp.experts.3.up_proj.weight", 1600L,
            "model.layers.6.self_attn.o_proj.weight", 100L,
            "model.layers.6.self_attn.kv_b_proj.weight", 96L);

    private static ModelCost cost(WeightProfile profile, KvFormat kv, boolean dense) {
        return new ModelCost(MINI, profile, kv, dense, TENSORS);
    }

    @Test
    void countsTheWeightsThatATokenReads() {
        assertThat(cost(WeightProfile.W8A8, KvFormat.INT8, false).weightBytes())
                .isEqualTo(10 + 7 + 4 + 1600 / 4 + 96 / 3);
    }

    @Test
    void countsTheCachedKeysThatATokenReads() {
        int latents = 6 * (64 + 32 + 2 * 4);
        int indexKeys = 6 * (64 + 4);
        assertThat(cost(WeightProfile.W8A8, KvFormat.INT8, false).keyBytes(200))
                .isEqualTo(128 * latents + 200 * indexKeys);
        assertThat(cost(WeightProfile.W8A8, KvFormat.INT8, false).keyBytes(128)).isEqualTo(128 * latents);
        assertThat(cost(WeightProfile.W8A8, KvFormat.INT8, true).keyBytes(200)).isEqualTo(200 * latents);
        assertThat(cost(WeightProfile.W8A8, KvFormat.BF16, true).keyBytes(200)).isEqualTo(200 * 6 * 96 * 2);
        assertThat(cost(WeightProfile.W8A8, KvFormat.INT8, true).decodeBytes(0, 3))
                .isEqualTo(453 + 2 * latents);
    }

    @Test
    void countsTheProductsOfAPrompt() {
        assertThat(cost(WeightProfile.W8A8, KvFormat.INT8, false).prefill(0, 2))
                .isEqualTo(new RowCost.Products(8_461_056, 74_240));
        assertThat(cost(WeightProfile.W4A8, KvFormat.INT8, false).prefill(199, 1))
                .isEqualTo(new RowCost.Products(5_660_672, 231_424));
        assertThat(cost(WeightProfile.BF16, KvFormat.BF16, false).prefill(199, 1))
                .isEqualTo(new RowCost.Products(0, 5_660_672 + 231_424));
    }

    @Test
    void limitsAreBytesOverBandwidthAndProductsOverPeaks() {
        MachineLimits machine = new MachineLimits(
                IsaLevel.AVX2,
                1,
                new Speeds(1_000_000, 8_461_056, 74_240),
                new Speeds(950_000, 8_000_000, 70_000),
                900_000);
        ModelCost cost = cost(WeightProfile.W8A8, KvFormat.INT8, false);
        assertThat(cost.of(BenchWork.decode(199, 1), 0).limitTokensPerSecond(machine))
                .isCloseTo(1_000_000 / (453 + 161_472.0), within(1e-9));
        // Two tokens whose products take two seconds each on both units.
        assertThat(cost.of(BenchWork.prefill(0, 2, 2), 0).limitTokensPerSecond(machine))
                .isCloseTo(0.5, within(1e-9));
        // Four rows share 43 bytes of weights besides an embedding row each; 500 bytes a row were counted.
        assertThat(cost.of(BenchWork.verify(0, 8, 4), 500).limitTokensPerSecond(machine))
                .isCloseTo(1_000_000 / (43 / 4.0 + 10 + 500), within(1e-9));
    }

    @Test
    void aStepReadsSharedWeightsOnceAndAnEmbeddingRowForEachToken() {
        ModelCost cost = cost(WeightProfile.W8A8, KvFormat.INT8, false);
        assertThat(cost.stepBytes(1)).isEqualTo(10 + 7 + 4 + 96 / 3);
        assertThat(cost.stepBytes(4)).isEqualTo(4 * 10 + 7 + 4 + 96 / 3);
    }

    // W_UV of 6 layers is 4 x 64 x 64 each.
    @Test
    void integerProductsWithWeightsLeaveOutKeysAndValueUpProjections() {
        int keys = 6 * 4 * (1 + 2) * (64 + 32);
        int valueUps = 2 * 6 * 4 * 64 * 64;
        assertThat(cost(WeightProfile.W8A8, KvFormat.INT8, false).int8InWeights(2))
                .isEqualTo(8_461_056 - keys - valueUps);
        assertThat(cost(WeightProfile.BF16, KvFormat.INT8, false).int8InWeights(2))
                .isZero();
    }

    @Test
    void denseAttentionReadsEachKeyOnceAStepAndMultipliesWithItInEachRow() {
        // Slots 201, 202 and 203 in a step of two and one of one; scores, then W_UV, then values.
        int seen = 201 + 202 + 203;
        RowCost.Attention attention = cost(WeightProfile.W8A8, KvFormat.INT8, true)
                .of(BenchWork.prefill(200, 3, 2), 0)
                .attention()
                .orElseThrow();
        assertThat(attention.products().int8()).isCloseTo(6 * 4 * (seen / 3.0 * 96 + 64 * 64), within(1e-6));
        assertThat(attention.products().floats()).isCloseTo(6 * 4 * (seen / 3.0 * 64), within(1e-6));
        assertThat(attention.keyBytes()).isCloseTo((202 + 203) / 3.0 * 6 * (64 + 32 + 8), within(1e-6));
        RowCost.Attention floats = cost(WeightProfile.BF16, KvFormat.BF16, true)
                .of(BenchWork.decode(200, 1), 0)
                .attention()
                .orElseThrow();
        assertThat(floats.products()).isEqualTo(new RowCost.Products(0, 6 * 4 * (201 * (96 + 64) + 64 * 64)));
        assertThat(floats.keyBytes()).isEqualTo(201 * 6 * 96 * 2);
        assertThat(cost(WeightProfile.W8A8, KvFormat.INT8, false)
                        .of(BenchWork.decode(200, 1), 0)
                        .attention())
                .isEmpty();
    }
}
