package io.millrace.kernels;

import java.lang.foreign.MemorySegment;

/// What `mlaProlog` computes besides the attention inputs in a layer that owns an indexer.
///
/// @param weights      the indexer
/// @param keys         where the index keys of the rows are written
/// @param query        out: roped index queries, float32 `[rows, heads, headDim]`
/// @param headWeights  out: scaled head weights, float32 `[rows, heads]`
public record IndexerProlog(IndexerWeights weights, PagedRows keys, MemorySegment query, MemorySegment headWeights) {}
