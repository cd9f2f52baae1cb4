package io.millrace.kernels.nativecode;

import static io.millrace.kernels.nativecode.NativeKernelsTest.started;
import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.kernels.Floats;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.LayerCase;
import io.millrace.kernels.LayerRun;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.RopeStyle;
import io.millrace.kernels.SeededRandom;
import io.millrace.kernels.Selection;
import io.millrace.kernels.StepCase;
import io.millrace.kernels.scalar.ScalarKernels;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Rows that see so many keys that lists of the best are cut again and again, and that the segments of
/// one row go to several threads; and rows of one segment, whose heads do.
class LongRowsTest {
    private static final int PAST = 9_111;
    private static final int SHORT = 300;
    // Some of its rows see one segment, others see two.
    private static final int SEGMENT_END = 505;

    private final SeededRandom random = SeededRandom.of("LongRowsTest");
    private final ScalarKernels scalar = new ScalarKernels();

    /// Whole numbers: sums are exact, and hundreds of keys have the same score, many of them zero.
    @ParameterizedTest
    @ValueSource(ints = {1, 33, 300, 2048})
    void selectsExactlyTheSpecifiedSlots(int topK) {
        LayerCase layer = new LayerCase(random, LayerCase.odd(), QuantFormat.F32, 5, 7);
        for (int rows : new int[] {1, 3, 40}) {
            StepCase step = new StepCase(random, layer, KvFormat.BF16, topK % 2, new int[] {PAST}, new int[] {rows});
            LayerRun expected = new LayerRun(scalar, layer, step, MlaForm.ABSORBED, topK);
            expected.indexQuery.copyFrom(random.integers(rows * 35L, 2));
            expected.headWeights.copyFrom(random.integers(rows * 5L, 2));
            MemorySegment keys = random.integers(expected.pool().byteSize() / Short.BYTES, 1);
            expected.pool().copyFrom(SeededRandom.inFormat(QuantFormat.BF16, keys));
            expected.select();
            for (IsaLevel level : NativeKernels.levels()) {
                for (int threads = 1; threads <= 3; threads++) {
                    try (NativeKernels kernels = started(threads, level)) {
                        LayerRun run = new LayerRun(kernels, layer, step, MlaForm.ABSORBED, topK);
                        run.inputsOf(expected).select();
                        assertSame(run.selection, expected.selection, rows);
                    }
                }
            }
        }
    }

    private static void assertSame(Selection actual, Selection expected, int rows) {
        for (int row = 0; row < rows; row++) {
            assertThat(actual.count(row)).isEqualTo(expected.count(row));
            for (int rank = 0; rank < expected.count(row); rank++) {
                assertThat(actual.slot(row, rank))
                        .as("rank %d of row %d", rank, row)
                        .isEqualTo(expected.slot(row, rank));
            }
        }
    }

    /// Nine heads: eight rows of them take values from slices, one row takes them from codes.
    @ParameterizedTest
    @EnumSource(KvFormat.class)
    void attendsToEveryKeyWithTheSameBytesHoweverItIsSpread(KvFormat format) {
        attends(format, PAST);
        attends(format, SHORT);
        attends(format, SEGMENT_END);
    }

    private void attends(KvFormat format, int past) {
        MlaShape shape = new MlaShape(48, 9, 32, 84, 16, 16, 24, RopeStyle.INTERLEAVED, 1e-5f, 1e-6f, 0.1f);
        LayerCase layer = new LayerCase(random, shape, QuantFormat.F32, 2, 24);
        int rows = 13;
        StepCase step = new StepCase(random, layer, format, 1, new int[] {past}, new int[] {rows});
        MemorySegment x = random.floats((long) rows * shape.hiddenSize(), 1);
        MemorySegment broken = Floats.zeros((long) rows * shape.hiddenSize()).fill((byte) 0xff);
        int all = past + rows;
        LayerRun expected = new LayerRun(scalar, layer, step, MlaForm.ABSORBED, all).run(x, 0, rows);
        LayerRun whole;
        try (NativeKernels kernels = started(1, IsaLevel.PORTABLE)) {
            whole = new LayerRun(kernels, layer, step, MlaForm.ABSORBED, all).run(x, 0, rows);
        }
        Floats.assertClose(whole.y, expected.y, shape.heads() * shape.vDim(), format == KvFormat.INT8 ? 2e-2 : 1e-4);
        for (IsaLevel level : NativeKernels.levels()) {
            for (int threads = 1; threads <= 3; threads++) {
                try (NativeKernels kernels = started(threads, level)) {
                    for (int part : new int[] {1, 2, 12, rows}) {
                        // Whatever rows before have left in memory must not reach these.
                        new LayerRun(kernels, layer, step, MlaForm.ABSORBED, all).run(broken, 0, part);
                        LayerRun run = new LayerRun(kernels, layer, step, MlaForm.ABSORBED, all);
                        for (int from = 0; from < rows; from += part) {
                            run.run(x, from, Math.min(part, rows - from));
                        }
                        Floats.assertSameBits(run.y, whole.y);
                    }
                }
            }
        }
    }
}
