package io.millrace.standalone.bench;

import io.millrace.engine.checkpoint.IndexerShape;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.profile.MatrixRole;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.PagedRows;
import io.millrace.standalone.bench.RowCost.Products;
import java.util.Map;
import java.util.Optional;

/// What a model costs at least: the bytes that a step of one or a few tokens has to read and the products that
/// a prompt needs. In the absorbed form of attention.
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

    /// Bytes of weights that one token reads: of routed experts those chosen, of the embedding its row, of
    /// the multi-token-prediction layer what writes its cached row.
    public double weightBytes() {
        return bytes(1, (double) config.gating().topK() / config.gating().experts());
    }

    /// Bytes of weights that a step of some rows reads whatever its tokens are: all but routed experts, once,
    /// and of the embedding a row for each.
    public double stepBytes(int rows) {
        return bytes(rows, 0);
    }

    private double bytes(int rows, double expertShare) {
        double bytes = 0;
        for (Map.Entry<String, Long> tensor : tensorBytes.entrySet()) {
            bytes += tensor.getValue() * share(tensor.getKey(), rows, expertShare);
        }
        return bytes;
    }

    private double share(String tensor, int rows, double expertShare) {
        Optional<MatrixRole> role = MatrixRole.of(tensor);
        boolean ofMtp = tensor.startsWith("model.layers." + config.layers() + ".");
        if (role.isEmpty()) {
            return 1;
        }
        return switch (role.get()) {
            case EMBEDDING -> (double) rows / config.vocabSize();
            case ROUTED_EXPERT -> ofMtp ? 0 : expertShare;
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
        double indexRow = PagedRows.sectionBytes(kv, config.indexHeadDim(), 1) / (double) PagedRows.PAGE_TOKENS;
        return latentBytes(attended(visible)) + (indexes(visible) ? indexers() * (double) visible * indexRow : 0);
    }

    // Of some slots, in all layers.
    private double latentBytes(int slots) {
        double row = PagedRows.sectionBytes(kv, config.mlaShape().cacheRow(), 2) / (double) PagedRows.PAGE_TOKENS;
        return config.layers() * (double) slots * row;
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
            keys = keys.plus(attentionProducts(depth + token)).plus(indexProducts(depth + token));
        }
        return weightProducts().times(tokens).plus(keys).plus(head());
    }

    /// What a token of some work costs.
    ///
    /// @param touchedPerToken  for verification: bytes of routed experts and cached keys, counted as steps touched
    ///                         them
    RowCost of(BenchWork work, double touchedPerToken) {
        int tokens = work.tokens();
        RowCost.Bound bound = switch (work.phase()) {
            case PREFILL ->
                new RowCost.Computes(prefill(work.depth(), tokens).times(1.0 / tokens), int8InWeights(tokens) / tokens);
            case DECODE -> new RowCost.Reads(decodeBytes(work.depth(), tokens));
            case VERIFY -> new RowCost.Reads(stepBytes(work.rowsPerStep()) / work.rowsPerStep() + touchedPerToken);
        };
        return new RowCost(bound, dense ? Optional.of(attention(work)) : Optional.empty());
    }

    /// Integer multiply-adds of a prompt with weights, without W_UV, which the attention operator multiplies with.
    double int8InWeights(int tokens) {
        Products perToken = weightProducts().plus(valueUp().times(-1));
        return perToken.times(tokens).plus(head()).int8();
    }

    /// Of a token on the average, where attention is dense.
    private RowCost.Attention attention(BenchWork work) {
        Products products = new Products(0, 0);
        double bytes = 0;
        for (int done = 0; done < work.tokens(); done += work.rowsPerStep()) {
            int rows = work.rows(done);
            for (int row = 1; row <= rows; row++) {
                products = products.plus(attentionProducts(work.depth() + done + row));
            }
            bytes += latentBytes(work.depth() + done + rows);
        }
        return new RowCost.Attention(products.times(1.0 / work.tokens()).plus(valueUp()), bytes / work.tokens());
    }

    // W_UV of all layers.
    private Products valueUp() {
        MlaShape mla = config.mlaShape();
        return weights((double) config.layers() * mla.heads() * mla.vDim() * mla.kvLoraRank(), 0);
    }

    private Products head() {
        return weights((double) config.vocabSize() * config.hiddenSize(), 0);
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
    private Products attentionProducts(int visible) {
        MlaShape mla = config.mlaShape();
        double pairs = (double) config.layers() * mla.heads() * attended(visible);
        return scores(pairs * mla.cacheRow()).plus(new Products(0, pairs * mla.kvLoraRank()));
    }

    private Products indexProducts(int visible) {
        return scores(
                indexes(visible) ? (double) indexers() * visible * config.indexHeads() * config.indexHeadDim() : 0);
    }

    private Products scores(double products) {
        return kv == KvFormat.INT8 ? new Products(products, 0) : new Products(0, products);
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
