package io.millrace.kernels;

import java.lang.foreign.MemorySegment;

/// Attention inputs of the rows of one step in one layer.
///
/// @param form    form the queries were made in
/// @param query   float32 `[rows, heads, shape.queryRow(form)]`
/// @param latent  cached rows `[kvLoraRank normed latent | ropeDim roped key]`
public record AttentionRows(MlaForm form, MemorySegment query, PagedRows latent) {}
