package io.millrace.engine.checkpoint;

import io.millrace.kernels.MlaShape;

/// Walks through every tensor a model of a given configuration has, with its shape. A walk and not a
/// list: a huge configuration must fail at its first missing tensor, not fill the memory.
public final class ExpectedTensors {

    /// Meets each expected tensor once.
    public interface Visitor {
        /// A weight `[rows, columns]`, which may be stored in FP8 with scales.
        void matrix(String name, long rows, long columns);

        void vector(String name, long size);

        /// A copy of a tensor of the main model that some checkpoints repeat in their MTP layer.
        void optionalMatrix(String name, long rows, long columns);
    }

    private final ModelConfig config;
    private final MlaShape mla;
    private final Visitor visitor;

    private ExpectedTensors(ModelConfig config, Visitor visitor) {
        this.config = config;
        this.mla = config.mlaShape();
        this.visitor = visitor;
    }

    /// Walks in the order of computation, embedding and head first.
    ///
    /// @param mtpLayer  whether the tensors of layer number `config.layers()` are expected
    public static void walk(ModelConfig config, boolean mtpLayer, Visitor visitor) {
        new ExpectedTensors(config, visitor).model(mtpLayer);
    }

    private void model(boolean mtpLayer) {
        int hidden = config.hiddenSize();
        visitor.matrix("model.embed_tokens.weight", config.vocabSize(), hidden);
        visitor.vector("model.norm.weight", hidden);
        if (config.tiedEmbeddings()) {
            visitor.optionalMatrix("lm_head.weight", config.vocabSize(), hidden);
        } else {
            visitor.matrix("lm_head.weight", config.vocabSize(), hidden);
        }
        for (int i = 0; i < config.layers(); i++) {
            layer(i);
        }
        if (mtpLayer) {
            layer(config.layers());
            mtp("model.layers." + config.layers() + ".");
        }
    }

    private void layer(int number) {
        String prefix = "model.layers." + number + ".";
        visitor.vector(prefix + "input_layernorm.weight", config.hiddenSize());
        visitor.vector(prefix + "post_attention_layernorm.weight", config.hiddenSize());
        attention(prefix + "self_attn.");
        if (config.ownsIndexer(number)) {
            indexer(prefix + "self_attn.indexer.");
        }
        if (config.isDense(number)) {
            mlp(prefix + "mlp.", config.intermediateSize());
        } else {
            experts(prefix + "mlp.");
        }
    }

    private void attention(String prefix) {
        int hidden = config.hiddenSize();
        long heads = mla.heads();
        visitor.matrix(prefix + "q_a_proj.weight", mla.qLoraRank(), hidden);
        visitor.vector(prefix + "q_a_layernorm.weight", mla.qLoraRank());
        visitor.matrix(prefix + "q_b_proj.weight", heads * (mla.nopeDim() + mla.ropeDim()), mla.qLoraRank());
        visitor.matrix(prefix + "kv_a_proj_with_mqa.weight", mla.cacheRow(), hidden);
        visitor.vector(prefix + "kv_a_layernorm.weight", mla.kvLoraRank());
        visitor.matrix(prefix + "kv_b_proj.weight", heads * (mla.nopeDim() + mla.vDim()), mla.kvLoraRank());
        visitor.matrix(prefix + "o_proj.weight", hidden, heads * mla.vDim());
    }

    private void indexer(String prefix) {
        IndexerShape indexer = config.indexer();
        visitor.matrix(prefix + "wq_b.weight", (long) indexer.heads() * indexer.headDim(), mla.qLoraRank());
        visitor.matrix(prefix + "wk.weight", indexer.headDim(), config.hiddenSize());
        visitor.matrix(prefix + "weights_proj.weight", indexer.heads(), config.hiddenSize());
        visitor.vector(prefix + "k_norm.weight", indexer.headDim());
        visitor.vector(prefix + "k_norm.bias", indexer.headDim());
    }

    private void experts(String prefix) {
        int experts = config.gating().experts();
        visitor.matrix(prefix + "gate.weight", experts, config.hiddenSize());
        visitor.vector(prefix + "gate.e_score_correction_bias", experts);
        for (int i = 0; i < experts; i++) {
            mlp(prefix + "experts." + i + ".", config.moeIntermediateSize());
        }
        mlp(prefix + "shared_experts.", (long) config.sharedExperts() * config.moeIntermediateSize());
    }

    private void mlp(String prefix, long width) {
        visitor.matrix(prefix + "gate_proj.weight", width, config.hiddenSize());
        visitor.matrix(prefix + "up_proj.weight", width, config.hiddenSize());
        visitor.matrix(prefix + "down_proj.weight", config.hiddenSize(), width);
    }

    private void mtp(String prefix) {
        int hidden = config.hiddenSize();
        visitor.vector(prefix + "enorm.weight", hidden);
        visitor.vector(prefix + "hnorm.weight", hidden);
        visitor.matrix(prefix + "eh_proj.weight", hidden, 2L * hidden);
        visitor.vector(prefix + "shared_head.norm.weight", hidden);
        visitor.optionalMatrix(prefix + "embed_tokens.weight", config.vocabSize(), hidden);
        visitor.optionalMatrix(prefix + "shared_head.head.weight", config.vocabSize(), hidden);
    }
}
