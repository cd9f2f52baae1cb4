package io.millrace.engine.model;

import io.millrace.kernels.IndexerWeights;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.MlaShape;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// Memory of one step, allocated once for the most rows a step may have. Everything is float32, 64-byte
/// aligned.
///
/// @param residual      residual stream `[rows, hiddenSize]`
/// @param normed        normed rows, and rows gathered for the head `[rows, hiddenSize]`
/// @param delta         what a half layer adds `[rows, hiddenSize]`
/// @param state         post-final-norm states `[rows, hiddenSize]`
/// @param query         attention queries `[rows, heads, queryRow]`
/// @param attended      attention outputs `[rows, heads * vDim]`
/// @param indexQuery    index queries `[rows, indexHeads, indexHeadDim]`
/// @param indexWeights  index head weights `[rows, indexHeads]`
record Scratch(
        MemorySegment residual,
        MemorySegment normed,
        MemorySegment delta,
        MemorySegment state,
        MemorySegment query,
        MemorySegment attended,
        MemorySegment indexQuery,
        MemorySegment indexWeights) {
    private static final int ALIGNMENT = 64;

    static Scratch allocate(MlaShape shape, MlaForm form, IndexerWeights indexer, int maxRows, Arena arena) {
        long rows = maxRows;
        return new Scratch(
                floats(arena, rows * shape.hiddenSize()),
                floats(arena, rows * shape.hiddenSize()),
                floats(arena, rows * shape.hiddenSize()),
                floats(arena, rows * shape.hiddenSize()),
                floats(arena, rows * shape.heads() * shape.queryRow(form)),
                floats(arena, rows * shape.heads() * shape.vDim()),
                floats(arena, rows * indexer.heads() * indexer.headDim()),
                floats(arena, rows * indexer.heads()));
    }

    static MemorySegment floats(Arena arena, long elements) {
        return arena.allocate(Math.multiplyExact(elements, (long) Float.BYTES), ALIGNMENT);
    }
}
