package io.millrace.engine.pack;

import io.millrace.kernels.MatrixView;
import io.millrace.kernels.PackedMatrix;
import java.lang.foreign.MemorySegment;

/// Whom a model asks for its weights, always in the same order. It asks twice: first a [PlanRecorder],
/// which only writes down what is wanted and whose answers hold no data; then the [PackedWeights].
public interface WeightSlots {
    /// A new part of the model begins.
    ///
    /// @param what  for whoever watches, e.g. `layer 3`
    void section(String what);

    /// A part of a matrix, packed. Parts of one matrix are asked for one after the other.
    PackedMatrix matrix(MatrixSpec spec, MatrixPart part);

    /// A whole matrix, packed.
    default PackedMatrix matrix(MatrixSpec spec) {
        return matrix(spec, MatrixPart.whole(spec));
    }

    /// A matrix of floats row by row, not packed.
    MatrixView rows(MatrixSpec spec);

    /// A vector as float32, aligned to 64 bytes.
    MemorySegment vector(VectorSpec spec);

    /// Room for a vector that is computed from others, aligned to 64 bytes; lives as long as the weights.
    MemorySegment floats(int count);
}
