package io.millrace.engine.pack;

import io.millrace.kernels.PackedMatrix;
import java.io.IOException;
import java.lang.foreign.Arena;

/// Where packed matrices go.
interface PackSink {
    /// Where a matrix is packed.
    ///
    /// @param temporary  closed once the matrix was added
    Arena packingArena(Arena temporary);

    /// The next matrix in the order of the plan.
    void add(String name, PackedMatrix matrix) throws IOException;
}
