package io.millrace.engine.model;

import io.millrace.kernels.IndexerWeights;
import io.millrace.kernels.MlaWeights;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/// Packed weights of one decoder layer.
///
/// @param attention    latent attention
/// @param indexer      its indexer; null where the layer reuses the previous selection
/// @param postNorm     gain of the post-attention norm, float32 `[hiddenSize]`
/// @param feedForward  dense or experts
record LayerWeights(
        MlaWeights attention, @Nullable IndexerWeights indexer, MemorySegment postNorm, FeedForward feedForward) {}
