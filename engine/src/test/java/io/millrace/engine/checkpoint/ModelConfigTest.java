package io.millrace.engine.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.kernels.RopeStyle;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ModelConfigTest {
    @TempDir
    Path directory;

    @Test
    void defaultsFollowTheModelFamily() {
        ModelConfig glm = read(TinyConfig.glm().without("num_nextn_predict_layers"));
        assertThat(glm.mtpLayers()).isZero();
        assertThat(glm.indexer().ropeStyle()).isEqualTo(RopeStyle.INTERLEAVED);
        assertThat(glm.mlaShape().ropeStyle()).isEqualTo(RopeStyle.INTERLEAVED);
        assertThat(glm.latentRmsEps()).isEqualTo(glm.rmsEps()).isEqualTo(1e-5f);
        assertThat(glm.gating().normalised()).isTrue();
        assertThat(glm.eosTokenIds()).containsExactly(1, 2);

        ModelConfig deepseek = read(TinyConfig.deepseek());
        assertThat(deepseek.indexer().ropeStyle()).isEqualTo(RopeStyle.HALF_SPLIT);
        assertThat(deepseek.mlaShape().ropeStyle()).isEqualTo(RopeStyle.INTERLEAVED);
        assertThat(deepseek.eosTokenIds()).containsExactly(1);
    }

    @Test
    void headDimIsIgnored() {
        ModelConfig plain = read(TinyConfig.glm());
        assertThat(read(TinyConfig.glm().with("head_dim", "192"))).isEqualTo(plain);
        assertThat(plain.mlaShape().ropeDim()).isEqualTo(4);
        assertThat(plain.softmaxScale()).isEqualTo((float) (1 / Math.sqrt(8)));
    }

    @Test
    void selectsNoMoreSlotsThanThereArePositions() {
        TinyConfig config = TinyConfig.glm().with("max_position_embeddings", "64");
        assertThat(read(config.with("index_topk", "134217728")).indexer().topK())
                .isEqualTo(64);
        assertThat(read(config.with("index_topk", "63")).indexer().topK()).isEqualTo(63);
    }

    @Test
    void ropeThetaIsReadFromEitherPlace() {
        TinyConfig top = TinyConfig.glm().without("rope_parameters").with("rope_theta", "5000");
        assertThat(read(top).rope()).isEqualTo(new RopeScaling(5000, 4, null));
        TinyConfig both = TinyConfig.glm().with("rope_theta", "10000").with("rope_scaling", "null");
        assertThat(read(both).rope()).isEqualTo(new RopeScaling(10000, 4, null));
        assertInvalid(TinyConfig.glm().with("rope_theta", "5000"), "rope_theta");
    }

    @Test
    void indexerTypesOverridePatternAndFrequency() {
        TinyConfig config = TinyConfig.glm().with("index_topk_freq", "2").with("index_skip_topk_offset", "1");
        assertThat(owners(config)).containsExactly(true, false, true, true);
        assertThat(owners(config.with("index_topk_pattern", "\"FSS\""))).containsExactly(true, false, false, true);
        assertThat(owners(config.with("indexer_types", "[\"full\",\"full\",\"shared\"]")))
                .containsExactly(true, true, false, true);
        assertInvalid(config.with("indexer_types", "[\"shared\",\"full\",\"full\"]"), "layer 0");
        assertInvalid(config.with("indexer_types", "[\"full\",\"full\"]"), "indexer_types");
    }

    @Test
    void layerTypesOverrideTheNumberOfDenseLayers() {
        ModelConfig config = read(TinyConfig.glm().with("mlp_layer_types", "[\"dense\",\"dense\",\"sparse\"]"));
        assertThat(List.of(config.isDense(0), config.isDense(1), config.isDense(2), config.isDense(3)))
                .containsExactly(true, true, false, false);
    }

    @Test
    void yarnMatchesTheReferenceFormula() {
        RopeScaling rope = new RopeScaling(10000, 64, new RopeScaling.Yarn(40, 32, 1, 1, 4096));
        float[] frequencies = rope.inverseFrequencies();
        // corr(32) = 10.47 and corr(1) = 22.51: pairs to 10 are kept, pairs from 23 divided by 40.
        assertThat(frequencies[0]).isEqualTo(1f);
        assertThat(frequencies[10]).isEqualTo((float) Math.pow(10000, -20 / 64.0));
        assertThat((double) frequencies[23]).isCloseTo(Math.pow(10000, -46 / 64.0) / 40, within(1e-9));
        double mixed = Math.pow(10000, -32 / 64.0) * (6 / 13.0 / 40 + 7 / 13.0);
        assertThat((double) frequencies[16]).isCloseTo(mixed, within(1e-9));
        assertThat(rope.softmaxFactor()).isCloseTo(1.87385, within(1e-5));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "model_type|\"llama\"",
                "model_type|7",
                "vocab_size|0",
                "vocab_size|-1",
                "vocab_size|1e9",
                "vocab_size|\"32\"",
                "vocab_size|99999999999999999999",
                "vocab_size|32.5",
                "hidden_size|2147483647",
                "num_hidden_layers|1000000",
                "num_hidden_layers|null",
                "qk_rope_head_dim|3",
                "qk_head_dim|9",
                "index_head_dim|2",
                "n_group|3",
                "topk_group|2",
                "num_experts_per_tok|5",
                "rms_norm_eps|-1",
                "rms_norm_eps|1e999",
                "routed_scaling_factor|\"x\"",
                "hidden_act|\"gelu\"",
                "attention_bias|true",
                "attention_bias|1",
                "scoring_func|\"softmax\"",
                "topk_method|\"greedy\"",
                "num_nextn_predict_layers|2",
                "num_key_value_heads|1",
                "moe_layer_freq|2",
                "eos_token_id|32",
                "eos_token_id|[1,-1]",
                "eos_token_id|\"a\"",
                "first_k_dense_replace|4",
                "rope_parameters|[]",
                "rope_parameters|{\"rope_type\":\"linear\",\"rope_theta\":1e4}",
                "rope_parameters|{\"rope_type\":\"yarn\",\"rope_theta\":1e4}",
                "rope_parameters|{\"rope_type\":\"default\"}",
                "mlp_layer_types|[\"dense\",\"dense\",1]",
                "quantization_config|{\"quant_method\":\"awq\"}",
                "quantization_config|{\"quant_method\":\"fp8\",\"weight_block_size\":[0,128]}",
                "quantization_config|{\"quant_method\":\"fp8\",\"weight_block_size\":[128]}",
                "max_position_embeddings|0",
            })
    void unsupportedValuesFailByName(String key, String json) {
        assertInvalid(TinyConfig.glm().with(key, json), "config.json: " + key);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "{", "[]", "null", "{} {}", "{\"a\":1,\"a\":2}", "\u0000", "{\"model_type\":\"glm_moe_dsa\"}"
            })
    void textThatIsNoConfigurationFails(String text) throws IOException {
        Files.writeString(directory.resolve("config.json"), text);
        assertThatThrownBy(() -> ModelConfig.read(directory))
                .isInstanceOfSatisfying(
                        MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_CHECKPOINT));
    }

    @Test
    void deepNestingFails() throws IOException {
        Files.writeString(directory.resolve("config.json"), "{\"a\":" + "[".repeat(200_000));
        assertThatThrownBy(() -> ModelConfig.read(directory)).isInstanceOf(MillraceException.class);
    }

    @Test
    void folderOrFileThatIsMissingFailsByName() {
        assertThatThrownBy(() -> ModelConfig.read(directory)).hasMessageContaining("config.json: no such file");
        assertThatThrownBy(() -> ModelConfig.read(directory.resolve("none"))).hasMessageContaining("no such folder");
    }

    @Test
    void generationDefaultsAreReadOrEmpty() throws IOException {
        assertThat(GenerationDefaults.read(directory).temperature()).isEmpty();
        Files.writeString(
                directory.resolve("generation_config.json"),
                "{\"temperature\":1.0,\"top_p\":0.95,\"eos_token_id\":[3],\"do_sample\":true}");
        GenerationDefaults defaults = GenerationDefaults.read(directory);
        assertThat(defaults.temperature()).hasValue(1.0);
        assertThat(defaults.topP()).hasValue(0.95);
        assertThat(defaults.topK()).isEmpty();
        assertThat(defaults.eosTokenIds()).containsExactly(3);
        Files.writeString(directory.resolve("generation_config.json"), "{\"top_p\":0}");
        assertThatThrownBy(() -> GenerationDefaults.read(directory)).hasMessageContaining("top_p: 0");
    }

    private List<Boolean> owners(TinyConfig config) {
        ModelConfig read = read(config);
        return List.of(read.ownsIndexer(0), read.ownsIndexer(1), read.ownsIndexer(2), read.ownsIndexer(3));
    }

    private ModelConfig read(TinyConfig config) {
        try {
            Files.writeString(directory.resolve("config.json"), config.json());
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
        return ModelConfig.read(directory);
    }

    private void assertInvalid(TinyConfig config, String fragment) {
        assertThatThrownBy(() -> read(config))
                .isInstanceOfSatisfying(
                        MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_CHECKPOINT))
                .hasMessageContaining(fragment);
    }

    private static org.assertj.core.data.Offset<Double> within(double tolerance) {
        return org.assertj.core.data.Offset.offset(tolerance);
    }
}
