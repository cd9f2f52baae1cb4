package io.millrace.engine.pack;

import io.millrace.kernels.WeightSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// Where the weights of a model come from: a checkpoint, or a generator. Asked by several threads at
/// once, for each tensor once; nothing it returns is used after the arena given to it is closed.
public interface WeightTensors extends AutoCloseable {
    /// A matrix, of exactly the asked shape. Floats are rounded to the wanted format by the caller; a
    /// source that has integers of its own returns them, and they must have the wanted format then.
    ///
    /// @param spec   which, and the wanted format
    /// @param arena  for what has to be converted or generated; closed once the matrix is packed
    WeightSource matrix(MatrixSpec spec, Arena arena);

    /// A vector as float32, of exactly the asked size.
    MemorySegment vector(VectorSpec spec, Arena arena);

    /// 32 bytes that identify the weights; equal digests mean equal weights. May read all of them; called
    /// once for each pack.
    byte[] digest();

    /// Releases what it holds. Idempotent.
    @Override
    default void close() {}
}
