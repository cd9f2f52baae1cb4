package io.millrace.engine.quantize;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/// The bytes of one entry of a plan, and what rounding did to it. Owns its memory.
///
/// @param arena   of the memory
/// @param data    one segment per [TensorPlan.Entry#stored]
/// @param error   expected squared error of the outputs, summed over outputs
/// @param energy  expected squares of the outputs, likewise
record EncodedTensor(Arena arena, List<MemorySegment> data, double error, double energy) implements AutoCloseable {
    @Override
    public void close() {
        arena.close();
    }
}
