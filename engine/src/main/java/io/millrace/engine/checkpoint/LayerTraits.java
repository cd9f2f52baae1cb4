package io.millrace.engine.checkpoint;

/// What distinguishes a layer from its neighbours.
///
/// @param dense        a dense feed-forward instead of experts
/// @param ownsIndexer  has indexer tensors and an index cache; otherwise it reuses the selection of the
///                     nearest layer below that owns one
public record LayerTraits(boolean dense, boolean ownsIndexer) {}
