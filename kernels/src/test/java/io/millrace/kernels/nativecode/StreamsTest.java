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

    private static final int INPUTS = 320;

    /// Fewer panels than the streams of all threads, of so many inputs that they are shared out nevertheless.
    private static final int[] FEW_PANELS = {2, 3, 4, 5, 7, 8, 11};

    private static final int LONG_INPUTS = 4096;
    private static final int LANES = 16;

    /// More rows than any tile has: their weights are not read in streams.
    private static final int MANY_ROWS = 7;

    private final SeededRandom random = SeededRandom.of("StreamsTest");

    @ParameterizedTest
    @EnumSource(QuantFormat.class)
    void fewRowsAreTheSameAsAmongManyHoweverStreamsAreCut(QuantFormat format) {
        check(format, PANELS, INPUTS, 3);
    }

    @ParameterizedTest
    @EnumSource(QuantFormat.class)
    void aThreadMayHaveFewerStreamsThanATile(QuantFormat format) {
        check(format, FEW_PANELS, LONG_INPUTS, 4);
    }

    private void check(QuantFormat format, int[] sizes, int inputs, int mostThreads) {
        MatrixView all = random.matrix(NativeKernelsTest.floats(format), sizes[sizes.length - 1] * LANES, inputs, 0);
        MemorySegment x = random.floats((long) MANY_ROWS * inputs, 1);
        for (int panels : sizes) {
            int outputs = panels * LANES - random.below(LANES);
            WeightSource matrix = NativeKernelsTest.in(format, all.rowRange(0, outputs));
            PackedMatrix w;
            MemorySegment whole;
            try (NativeKernels kernels = NativeKernels.open(1, Optional.empty())) {
                w = kernels.pack(matrix, Arena.ofAuto());
                whole = linear(kernels, w, x, MANY_ROWS);
            }
            for (IsaLevel level : NativeKernels.levels()) {
                for (int threads = 1; threads <= mostThreads; threads++) {
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
        kernels.linear(w, Floats.rows(x, 0, rows, w.inFeatures()), rows, y);
        return y;
    }
}
