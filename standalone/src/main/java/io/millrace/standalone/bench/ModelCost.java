package io.millrace.standalone.bench;

import io.millrace.engine.checkpoint.IndexerShape;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.profile.MatrixRole;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.PagedRows;
import java.util.Map;
import java.util.Optional;

/// What a model costs at least: the bytes that a decoded token has to read and the products that a
/// prompt needs. In the absorbed form of attention.
///
/// @param config       the model
/// @param profile      number formats of its weights
/// @param kv           number format of cached keys
/// @param dense        whether rows attend to every visible slot
/// @param tensorBytes  packed bytes of each tensor
public record ModelCost(
        ModelConfig config, WeightProfile profile, KvFormat kv, boolean dense, Map<String, Long> tensorBytes) {
    public ModelCost {
        tensorBytes = Map.copyOf(tensorBytes);
    }

    /// Multiply-adds.
    ///
    /// @param int8    of integer weights and keys
    /// @param floats  of all others
    public record Products(double int8, double floats) {
        Products plus(Products other) {
            return new Products(int8 + other.int8, floats + other.floats);
        }

        Products times(double factor) {
            return new Products(int8 * factor, floats * factor);
        }
    }

    /// Bytes of weights that one token reads: of routed experts those chosen, of the embedding its row, of
    /// the multi-token-prediction layer what writes its cached row.
    public double weightBytes() {
        double bytes = 0;
        for (Map.Entry<String, Long> tensor : tensorBytes.entrySet()) {
            bytes += tensor.getValue() * share(tensor.getKey());
        }
        return bytes;
    }

    private double share(String tensor) {
        Optional<MatrixRole> role = MatrixRole.of(tensor);
        boolean ofMtp = tensor.startsWith("model.layers." + config.layers() + ".");
        if (role.isEmpty()) {
            return 1;
        }
        return switch (role.get()) {
            case EMBEDDING -> 1.0 / config.vocabSize();
            case ROUTED_EXPERT ->
                ofMtp ? 0 : (double) config.gating().topK() / config.gating().experts();
            case DENSE_MLP, SHARED_EXPERT, ROUTER_GATE -> ofMtp ? 0 : 1;
            case ATTENTION -> ofMtp && tensor.endsWith("o_proj.weight") ? 0 : 1;
            case KEY_VALUE_UP -> ofMtp ? keyShare() : 1;
            case HEAD, INDEXER, INDEXER_HEAD_WEIGHTS, MTP_PROJECTION -> 1;
        };
    }

    private double keyShare() {
        MlaShape mla = config.mlaShape();
        return (double) mla.nopeDim() / (mla.nopeDim() + mla.vDim());
    }

    /// Bytes of cached keys that one token reads.
    ///
    /// @param visible  slots it sees, its own included
    public double keyBytes(int visible) {
        double latentRow = PagedRows.sectionBytes(kv, config.mlaShape().cacheRow(), 2) / (double) PagedRows.PAGE_TOKENS;
        double indexRow = PagedRows.sectionBytes(kv, config.indexHeadDim(), 1) / (double) PagedRows.PAGE_TOKENS;
        return config.layers() * (double) attended(visible) * latentRow
                + (indexes(visible) ? indexers() * (double) visible * indexRow : 0);
    }

    /// Average bytes of tokens decoded one by one.
    ///
    /// @param depth   cached tokens before the first
    /// @param tokens  how many
    public double decodeBytes(int depth, int tokens) {
        double bytes = 0;
        for (int token = 1; token <= tokens; token++) {
            bytes += keyBytes(depth + token);
        }
        return weightBytes() + bytes / tokens;
    }

    /// Multiply-adds of a prompt, the logits of its last token included.
    ///
    /// @param depth   cached tokens before it
    /// @param tokens  its length
    public Products prefill(int depth, int tokens) {
        Products keys = new Products(0, 0);
        for (int token = 1; token <= tokens; token++) {
            keys = keys.plus(keyProducts(depth + token));
        }
        double head = (double) config.vocabSize() * config.hiddenSize();
        return weightProducts().times(tokens).plus(keys).plus(weights(head, 0));
    }

    private Products weightProducts() {
        double hidden = config.hiddenSize();
        MlaShape mla = config.mlaShape();
        IndexerShape indexer = config.indexer();
        double prolog = hidden * mla.qLoraRank()
                + (double) mla.qLoraRank() * mla.heads() * (mla.nopeDim() + mla.ropeDim())
                + hidden * mla.cacheRow()
                + (double) mla.heads() * mla.nopeDim() * mla.kvLoraRank();
        double out = (double) mla.heads() * mla.vDim() * (mla.kvLoraRank() + hidden);
        double index = (double) indexer.heads() * indexer.headDim() * mla.qLoraRank() + hidden * indexer.headDim();
        double indexFloats = hidden * indexer.heads();
        Products sum = new Products(0, 0);
        for (int layer = 0; layer < config.layers(); layer++) {
            double feed = config.isDense(layer)
                    ? 3 * hidden * config.intermediateSize()
                    : 3
                            * hidden
                            * config.moeIntermediateSize()
                            * (config.gating().topK() + config.sharedExperts());
            double gate = config.isDense(layer) ? 0 : hidden * config.gating().experts();
            boolean owns = config.ownsIndexer(layer);
            sum = sum.plus(weights(prolog + out + feed + (owns ? index : 0), gate + (owns ? indexFloats : 0)));
        }
        return config.mtpLayers() == 0 ? sum : sum.plus(weights(2 * hidden * hidden + prolog + index, indexFloats));
    }

    private Products weights(double inFormat, double alwaysFloats) {
        boolean integer = profile == WeightProfile.W8A8 || profile == WeightProfile.W4A8;
        return new Products(integer ? inFormat : 0, alwaysFloats + (integer ? 0 : inFormat));
    }

    // Scores are integer products where keys are; values are weighted by floats.
    private Products keyProducts(int visible) {
        MlaShape mla = config.mlaShape();
        double pairs = (double) config.layers() * mla.heads() * attended(visible);
        double scores = pairs * mla.cacheRow()
                + (indexes(visible) ? (double) indexers() * visible * config.indexHeads() * config.indexHeadDim() : 0);
        double values = pairs * mla.kvLoraRank();
        return kv == KvFormat.INT8 ? new Products(scores, values) : new Products(0, scores + values);
    }

    private int attended(int visible) {
        return dense ? visible : Math.min(visible, config.indexTopK());
    }

    private boolean indexes(int visible) {
        return !dense && visible > config.indexTopK();
    }

    private int indexers() {
        int count = 0;
        for (int layer = 0; layer < config.layers(); layer++) {
            count += config.ownsIndexer(layer) ? 1 : 0;
        }
        return count;
    }
}
