package io.millrace.engine.model;

import io.millrace.kernels.IndexerWeights;
import io.millrace.kernels.PackedMatrix;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Packed weights of a model; their memory belongs to the model's arena.
///
/// @param embedding  token embedding
/// @param layers     decoder layers
/// @param finalNorm  the final norm
/// @param rotation   what true states pass before the head
/// @param head       `lm_head` `[vocabSize, hiddenSize]`
/// @param mtp        the multi-token-prediction layer, null without one
record ModelWeights(
        Embedding embedding,
        List<LayerWeights> layers,
        StateNorm finalNorm,
        StateRotation rotation,
        PackedMatrix head,
        @Nullable MtpWeights mtp) {

    /// An indexer: all of a model have the same sizes.
    IndexerWeights anyIndexer() {
        for (LayerWeights layer : layers) {
            IndexerWeights indexer = layer.indexer();
            if (indexer != null) {
                return indexer;
            }
        }
        throw new IllegalStateException("no layer owns an indexer (expected: layer 0 at least)");
    }
}
