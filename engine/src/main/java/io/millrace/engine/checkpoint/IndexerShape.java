package io.millrace.engine.checkpoint;

import io.millrace.kernels.RopeStyle;

/// Sizes of the lightning indexer. An index query or key head is `[rope | rest]`: the first
/// `qk_rope_head_dim` elements are rotated.
///
/// @param heads         query heads; there is one key head
/// @param headDim       elements of a head
/// @param topK          positions each token attends to
/// @param ropeStyle     pairing of the rotated part: interleaved in GLM, half-split in DeepSeek-V3.2
/// @param sharedForMtp  whether draft steps after the first reuse the first one's selection
public record IndexerShape(int heads, int headDim, int topK, RopeStyle ropeStyle, boolean sharedForMtp) {}
