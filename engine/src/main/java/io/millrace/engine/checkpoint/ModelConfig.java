package io.millrace.engine.checkpoint;

import io.millrace.kernels.ExpertGating;
import io.millrace.kernels.MlaShape;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// Everything `config.json` says about a `glm_moe_dsa` or `deepseek_v32` model that changes what it
/// computes. All values are checked on reading, so that no product of sizes overflows a `long` and no
/// single one an `int`.
///
/// @param modelType              `glm_moe_dsa` or `deepseek_v32`
/// @param vocabSize              rows of the embedding
/// @param hiddenSize             width of the residual stream
/// @param layers                 decoder layers without the MTP layer
/// @param mtpLayers              0 or 1; the MTP layer is stored as layer number `layers`
/// @param intermediateSize       width of a dense feed-forward
/// @param moeIntermediateSize    width of one expert
/// @param sharedExperts          experts every token uses; stored as one of `sharedExperts *
///                               moeIntermediateSize`
/// @param gating                 how experts are picked
/// @param mlaShape               attention, softmax scale included
/// @param indexer                the lightning indexer
/// @param layerTraits            one per layer, the MTP layer's last (present even if `mtpLayers` is 0)
/// @param rope                   frequencies
/// @param maxPositionEmbeddings  longest context
/// @param tiedEmbeddings         the output head is the embedding
/// @param eosTokenIds            ids that end a reply; may be empty
/// @param fp8Blocks              block sizes of FP8 weights, null where the checkpoint has none
/// @param integerScheme          integer weights the checkpoint may hold, null for none
/// @param weightRotation         rotation that was folded into the weights, null for none
public record ModelConfig(
        String modelType,
        int vocabSize,
        int hiddenSize,
        int layers,
        int mtpLayers,
        int intermediateSize,
        int moeIntermediateSize,
        int sharedExperts,
        ExpertGating gating,
        MlaShape mlaShape,
        IndexerShape indexer,
        List<LayerTraits> layerTraits,
        RopeScaling rope,
        int maxPositionEmbeddings,
        boolean tiedEmbeddings,
        List<Integer> eosTokenIds,
        @Nullable Fp8Blocks fp8Blocks,
        @Nullable IntegerScheme integerScheme,
        @Nullable WeightRotation weightRotation) {

    /// Epsilon of the indexer's key LayerNorm, the same in every published model and in no `config.json`.
    public static final float INDEX_KEY_NORM_EPS = 1e-6f;

    public ModelConfig {
        layerTraits = List.copyOf(layerTraits);
        eosTokenIds = List.copyOf(eosTokenIds);
    }

    /// Reads `config.json` of a model folder.
    ///
    /// Keys that do not change the mathematics are ignored; so are `layer_types` and `head_dim`, which
    /// means different things in different releases. `indexer_types` overrides `index_topk_pattern`,
    /// which overrides `index_topk_freq` and `index_skip_topk_offset`; `mlp_layer_types` overrides
    /// `first_k_dense_replace`. An absent `latent_rms_norm_eps` equals `rms_norm_eps`; an absent
    /// `num_nextn_predict_layers` is 0.
    ///
    /// @throws io.millrace.engine.error.MillraceException `INVALID_CHECKPOINT`, naming key, found,
    /// expected
    public static ModelConfig read(Path directory) {
        return ConfigReader.read(JsonFile.read(new ModelFiles(directory).file("config.json")));
    }

    /// Reads a file like `config.json` of any name, which somebody may have written by hand: an unknown key
    /// that is near to a known one is refused.
    ///
    /// @throws io.millrace.engine.error.MillraceException as [#read(Path)] does
    public static ModelConfig readFile(Path file) {
        JsonFile json = JsonFile.read(file);
        ConfigKeys.requireSpelt(json);
        return ConfigReader.read(json);
    }

    /// Whether layer `layer` has its own indexer and index cache. The MTP layer, number `layers`, always
    /// has.
    public boolean ownsIndexer(int layer) {
        return layerTraits.get(layer).ownsIndexer();
    }

    /// Whether layer `layer` has a dense feed-forward. The MTP layer, number `layers`, never has.
    public boolean isDense(int layer) {
        return layerTraits.get(layer).dense();
    }

    /// Epsilon of all RMS norms but the latent ones.
    public float rmsEps() {
        return mlaShape.rmsEps();
    }

    /// Epsilon of the two latent norms.
    public float latentRmsEps() {
        return mlaShape.latentRmsEps();
    }

    /// Factor of the attention scores, YaRN's correction included.
    public float softmaxScale() {
        return mlaShape.softmaxScale();
    }

    /// Query heads.
    public int heads() {
        return mlaShape.heads();
    }

    public int indexHeads() {
        return indexer.heads();
    }

    public int indexHeadDim() {
        return indexer.headDim();
    }

    public int indexTopK() {
        return indexer.topK();
    }

    /// Block sizes of FP8 weights, empty where the checkpoint has none.
    public Optional<Fp8Blocks> fp8() {
        return Optional.ofNullable(fp8Blocks);
    }

    /// Which integer weights the checkpoint may hold, empty for none.
    public Optional<IntegerScheme> integers() {
        return Optional.ofNullable(integerScheme);
    }

    /// The rotation that was folded into the weights, empty for none.
    public Optional<WeightRotation> rotation() {
        return Optional.ofNullable(weightRotation);
    }
}
