package io.millrace.engine.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// Configurations that somebody wrote by hand.
class ConfigKeysTest {
    /// Strings in the reader that are values, or keys of the rotation, of which none may be unknown.
    private static final Set<String> VALUES = Set.of(
            "deepseek_v32",
            "default",
            "dense",
            "false",
            "float32",
            "full",
            "glm_moe_dsa",
            "noaux_tc",
            "shared",
            "sigmoid",
            "silu",
            "sparse",
            "true",
            "yarn",
            "version",
            "seed");

    @TempDir
    private Path directory = Path.of("");

    private Path write(TinyConfig config) throws IOException {
        return Files.writeString(directory.resolve("shape.json"), config.json());
    }

    @ParameterizedTest
    @CsvSource({
        "num_nextn_predict_layer,num_nextn_predict_layers",
        "numNextnPredictLayers,num_nextn_predict_layers",
        "latent_rms_norm_ep,latent_rms_norm_eps",
        "index_top_k_freq,index_topk_freq",
        "indexer_type,indexer_types",
        "tie_word_embedings,tie_word_embeddings",
        "rope_interleaved,rope_interleave",
        "eos_token_ids,eos_token_id",
        "atention_bias,attention_bias",
        "rope_paramters,rope_parameters",
    })
    void aMisspeltKeyIsRefusedWithTheOneThatIsMeant(String key, String meant) throws IOException {
        Path file = write(TinyConfig.glm()
                .without(meant.equals("rope_parameters") ? "" : meant)
                .with(key, "1"));

        assertThatThrownBy(() -> ModelConfig.readFile(file))
                .isInstanceOfSatisfying(
                        MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.INVALID_CHECKPOINT))
                .hasMessage(file + ": " + key + ": unknown key (expected: " + meant + ")");
    }

    @Test
    void aMisspeltKeyOfTheRopeIsRefusedToo() throws IOException {
        Path file = write(TinyConfig.deepseek().with("rope_scaling", """
                {"type":"yarn","factor":40,"beta_fst":32,"beta_slow":1,"mscale":1.0,"mscale_all_dim":1.0,
                "original_max_position_embeddings":4096}"""));

        assertThatThrownBy(() -> ModelConfig.readFile(file))
                .hasMessage(file + ": rope_scaling.beta_fst: unknown key (expected: beta_fast)");
    }

    @Test
    void keysOfOtherProgramsStayAccepted() throws IOException {
        TinyConfig config = TinyConfig.glm();
        for (String key : List.of(
                "architectures",
                "auto_map",
                "torch_dtype",
                "dtype",
                "transformers_version",
                "bos_token_id",
                "pad_token_id",
                "unk_token_id",
                "head_dim",
                "layer_types",
                "use_cache",
                "ep_size",
                "pretraining_tp",
                "attention_dropout",
                "initializer_range",
                "aux_loss_alpha",
                "seq_aux",
                "partial_rotary_factor",
                "_name_or_path",
                "comment",
                "num_experts",
                "sliding_window",
                "model_typology")) {
            config = config.with(key, "1");
        }
        assertThat(ModelConfig.readFile(write(config))).isEqualTo(ModelConfig.readFile(write(TinyConfig.glm())));
    }

    @Test
    void aPublishedFolderMayHaveAnyKey() throws IOException {
        Files.writeString(
                directory.resolve("config.json"),
                TinyConfig.glm().with("indexer_type", "1").json());
        assertThat(ModelConfig.read(directory).layers()).isEqualTo(3);
    }

    @Test
    void everyConfigurationOfTheRepositoryIsRead() throws IOException {
        List<Path> files;
        try (Stream<Path> shapes = Files.list(TestCheckpoints.root().resolve("benchmarks/shapes"));
                Stream<Path> tests = Files.walk(TestCheckpoints.root().resolve("engine/src/test/resources"))) {
            files = Stream.concat(
                            shapes.filter(file -> file.toString().endsWith(".json")),
                            tests.filter(file -> file.endsWith("config.json")))
                    .toList();
        }
        assertThat(files).hasSizeGreaterThanOrEqualTo(10);
        for (Path file : files) {
            assertThat(ModelConfig.readFile(file).layers()).as(file.toString()).isPositive();
        }
        assertThat(ModelConfig.readFile(TestCheckpoints.mini().resolve("config.json"))
                        .layers())
                .isEqualTo(6);
    }

    @Test
    void theListHasWhatTheReaderReads() throws IOException {
        Path source =
                TestCheckpoints.root().resolve("engine/src/main/java/io/millrace/engine/checkpoint/ConfigReader.java");
        Set<String> read = new TreeSet<>(Set.of("quantization_config", WeightRotation.KEY));
        Matcher literals = Pattern.compile("\"([a-z][a-z_0-9]+)\"").matcher(Files.readString(source));
        while (literals.find()) {
            read.add(literals.group(1));
        }
        read.removeAll(VALUES);
        read.removeIf(key -> key.endsWith("_block"));
        Set<String> listed = new TreeSet<>(ConfigKeys.READ);
        listed.addAll(ConfigKeys.ROPE);

        assertThat(listed).isEqualTo(read);
    }
}
