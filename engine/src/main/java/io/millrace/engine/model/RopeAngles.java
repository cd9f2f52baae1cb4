package io.millrace.engine.model;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import io.millrace.kernels.RopeRows;
import io.millrace.kernels.RowBatch;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// Cosines and sines of the rows of a step: the angle is `position * inverseFrequency` in float32, its
/// cosine and sine are StrictMath's, rounded to float32. Equal positions give equal bytes on every
/// machine.
final class RopeAngles {
    private final float[] inverseFrequencies;
    private final MemorySegment cos;
    private final MemorySegment sin;
    private final RopeRows rows;

    /// @param inverseFrequencies  one per rotated pair
    RopeAngles(float[] inverseFrequencies, int maxRows, Arena arena) {
        int pairs = inverseFrequencies.length;
        this.inverseFrequencies = inverseFrequencies.clone();
        this.cos = Scratch.floats(arena, (long) maxRows * pairs);
        this.sin = Scratch.floats(arena, (long) maxRows * pairs);
        this.rows = new RopeRows(cos, sin, pairs * 2);
    }

    /// Fills the rotations of a batch.
    RopeRows fill(RowBatch batch) {
        int pairs = inverseFrequencies.length;
        for (int row = 0; row < batch.rows(); row++) {
            float position = batch.position(row);
            long at = (long) row * pairs;
            if (row > 0 && batch.position(row - 1) == batch.position(row)) {
                repeat(cos, at, pairs);
                repeat(sin, at, pairs);
                continue;
            }
            for (int pair = 0; pair < pairs; pair++) {
                double angle = position * inverseFrequencies[pair];
                cos.setAtIndex(JAVA_FLOAT, at + pair, (float) StrictMath.cos(angle));
                sin.setAtIndex(JAVA_FLOAT, at + pair, (float) StrictMath.sin(angle));
            }
        }
        return rows;
    }

    /// Copies the row before: streams in step are at the same position.
    private static void repeat(MemorySegment rows, long at, int pairs) {
        long bytes = (long) pairs * Float.BYTES;
        MemorySegment.copy(rows, at * Float.BYTES - bytes, rows, at * Float.BYTES, bytes);
    }
}
