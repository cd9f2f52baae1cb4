package io.millrace.kernels.nativecode;

import static io.millrace.kernels.nativecode.NativeKernelsTest.started;

import io.millrace.kernels.Floats;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.SeededRandom;
import io.millrace.kernels.WeightSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/// Weights of few rows, which are read in streams: by bands for the threads, each in pieces of all its streams.
class StreamsTest {
    /// Numbers of panels, so that in every format some bands have three pieces and more, and the last band fewer panels
    /// to a stream, or fewer pieces, than those before.
    private static final int[] PANELS = {9, 13, 17, 25, 37, 49, 73, 109, 130};

    private static final int LANES = 16;
    private static final int INPUTS = 320;

    /// More rows than any tile has: their weights are not read in streams.
    private static final int MANY_ROWS = 7;

    private final SeededRandom random = SeededRandom.of("StreamsTest");

    @ParameterizedTest
    @EnumSource(QuantFormat.class)
    void fewRowsAreTheSameAsAmongManyHoweverStreamsAreCut(QuantFormat format) {
        MatrixView all = random.matrix(NativeKernelsTest.floats(format), PANELS[PANELS.length - 1] * LANES, INPUTS, 0);
        MemorySegment x = random.floats((long) MANY_ROWS * INPUTS, 1);
        for (int panels : PANELS) {
            int outputs = panels * LANES - random.below(LANES);
            WeightSource matrix = NativeKernelsTest.in(format, all.rowRange(0, outputs));
            PackedMatrix w;
            MemorySegment whole;
            try (NativeKernels kernels = NativeKernels.open(1, Optional.empty())) {
                w = kernels.pack(matrix, Arena.ofAuto());
                whole = linear(kernels, w, x, MANY_ROWS);
            }
            for (IsaLevel level : NativeKernels.levels()) {
                for (int threads = 1; threads <= 3; threads++) {
                    try (NativeKernels kernels = started(threads, level)) {
                        for (int rows = 1; rows <= 2; rows++) {
                            Floats.assertSameBits(linear(kernels, w, x, rows), Floats.rows(whole, 0, rows, outputs));
                        }
                    }
                }
            }
        }
    }

    /// Outputs that nothing computes are left NaN.
    private static MemorySegment linear(NativeKernels kernels, PackedMatrix w, MemorySegment x, int rows) {
        MemorySegment y = Floats.zeros((long) rows * w.outFeatures());
        for (long i = 0; i < (long) rows * w.outFeatures(); i++) {
            y.setAtIndex(ValueLayout.JAVA_FLOAT, i, Float.NaN);
        }
        kernels.linear(w, Floats.rows(x, 0, rows, INPUTS), rows, y);
        return y;
    }
}
