package io.millrace.engine.model;

import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.engine.pack.MatrixSpec;
import io.millrace.engine.pack.VectorSpec;
import io.millrace.engine.pack.WeightTensors;
import io.millrace.kernels.WeightSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/// The weights of a checkpoint.
final class CheckpointTensors implements WeightTensors {
    private final Checkpoint checkpoint;

    /// Closes the checkpoint when it is closed.
    CheckpointTensors(Checkpoint checkpoint) {
        this.checkpoint = checkpoint;
    }

    @SuppressWarnings("MustBeClosedChecker") // closed by close()
    static CheckpointTensors open(Path directory) {
        return new CheckpointTensors(Checkpoint.open(directory));
    }

    @Override
    public WeightSource matrix(MatrixSpec spec, Arena arena) {
        return checkpoint.weight(spec.name(), arena);
    }

    @Override
    public MemorySegment vector(VectorSpec spec, Arena arena) {
        return checkpoint.vector(spec.name(), arena);
    }

    @Override
    public byte[] digest() {
        return checkpoint.weightsDigest();
    }

    @Override
    public void close() {
        checkpoint.close();
    }
}
