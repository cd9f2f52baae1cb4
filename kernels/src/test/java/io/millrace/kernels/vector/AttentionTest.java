package io.millrace.kernels.vector;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.kernels.Floats;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.LayerCase;
import io.millrace.kernels.LayerRun;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.PagedRows;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.SeededRandom;
import io.millrace.kernels.Selection;
import io.millrace.kernels.StepCase;
import io.millrace.kernels.scalar.ScalarKernels;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class AttentionTest {
    private static final int DENSE = 4096;

    private final SeededRandom random = SeededRandom.of("AttentionTest");
    private final VectorKernels vector = started(2);
    private final ScalarKernels scalar = new ScalarKernels();

    @AfterEach
    void closeKernels() {
        vector.close();
    }

    @ParameterizedTest
    @EnumSource(MlaForm.class)
    void prologAgreesWithTheSpecification(MlaForm form) {
        for (MlaShape shape : List.of(LayerCase.mini(), LayerCase.odd())) {
            for (QuantFormat format : List.of(QuantFormat.F32, QuantFormat.BF16)) {
                LayerCase layer = layer(shape, format);
                StepCase step = step(layer, KvFormat.F32, 0, new int[] {0, 65}, new int[] {9, 1});
                MemorySegment x = random.floats((long) step.rows() * shape.hiddenSize(), 2);
                LayerRun actual = new LayerRun(vector, layer, step, form, 8).prolog(x, true);
                LayerRun expected = new LayerRun(scalar, layer, step, form, 8).prolog(x, true);
                Floats.assertClose(actual.query, expected.query, shape.heads() * shape.queryRow(form), 1e-5);
                Floats.assertClose(actual.indexQuery, expected.indexQuery, layer.indexHeads * layer.indexDim, 1e-5);
                Floats.assertClose(actual.headWeights, expected.headWeights, layer.indexHeads, 1e-5);
                Floats.assertClose(actual.pool(), expected.pool(), 1, 1e-4);
                LayerRun without = new LayerRun(vector, layer, step, form, 8).prolog(x, false);
                Floats.assertSameBits(without.query, actual.query);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"F32", "BF16"})
    void writesRowsRoundedToTheFormatOfTheirPage(KvFormat format) {
        LayerCase layer = layer(LayerCase.mini(), QuantFormat.BF16);
        StepCase step = step(layer, format, 1, new int[] {62}, new int[] {4});
        // All ones is a NaN in every format: no row of finite numbers has it.
        step.latent.pool().fill((byte) -1);
        MemorySegment x = random.floats((long) step.rows() * 256, 2);
        LayerRun actual = new LayerRun(vector, layer, step, MlaForm.ABSORBED, 8).prolog(x, true);
        Set<Long> expected = new TreeSet<>();
        for (int row = 0; row < step.rows(); row++) {
            for (PagedRows rows : List.of(actual.latent, actual.keys)) {
                long at = rows.rowOffset(step.batch.pages(row), step.batch.slot(row)) / format.elementBytes();
                for (int i = 0; i < rows.rowElements(); i++) {
                    expected.add(at + i);
                }
            }
        }
        assertThat(expected).hasSize(4 * (96 + layer.indexDim));
        assertThat(writtenElements(actual.pool(), format)).isEqualTo(expected);
    }

    private static Set<Long> writtenElements(MemorySegment pool, KvFormat format) {
        Set<Long> written = new TreeSet<>();
        for (long i = 0; i < pool.byteSize() / format.elementBytes(); i++) {
            boolean untouched = switch (format) {
                case F32 -> pool.getAtIndex(ValueLayout.JAVA_INT, i) == -1;
                case BF16 -> pool.getAtIndex(ValueLayout.JAVA_SHORT, i) == -1;
                case INT8 -> pool.get(ValueLayout.JAVA_BYTE, i) == -1;
            };
            if (!untouched) {
                written.add(i);
            }
        }
        return written;
    }

    @Test
    void selectsExactlyTheSpecifiedSlotsOnWholeNumbersAndTies() {
        for (int topK : new int[] {1, 7, 64, 128}) {
            LayerCase layer = new LayerCase(random, LayerCase.odd(), QuantFormat.F32, 5, 7);
            StepCase step = step(layer, KvFormat.BF16, topK % 2, new int[] {0, 200, 1100, 3}, new int[] {90, 3, 1, 1});
            LayerRun actual = new LayerRun(vector, layer, step, MlaForm.ABSORBED, topK);
            LayerRun expected = new LayerRun(scalar, layer, step, MlaForm.ABSORBED, topK);
            expected.indexQuery.copyFrom(random.integers((long) step.rows() * 35, 2));
            expected.headWeights.copyFrom(random.integers((long) step.rows() * 5, 2));
            expected.pool()
                    .copyFrom(SeededRandom.inFormat(
                            QuantFormat.BF16, random.integers(expected.pool().byteSize() / 2, 1)));
            actual.inputsOf(expected).select();
            expected.select();
            assertSameSelection(actual.selection, expected.selection, step.rows());
        }
    }

    @Test
    void breaksATieOfEverySlotByTheLowerSlot() {
        LayerCase layer = layer(LayerCase.mini(), QuantFormat.F32);
        StepCase step = step(layer, KvFormat.F32, 0, new int[] {299}, new int[] {1});
        LayerRun run = new LayerRun(vector, layer, step, MlaForm.ABSORBED, 16);
        run.indexQuery.copyFrom(random.floats(8L * 64, 1));
        run.select();
        for (int rank = 0; rank < 16; rank++) {
            assertThat(run.selection.slot(0, rank)).isEqualTo(rank);
        }
    }

    @ParameterizedTest
    @EnumSource(MlaForm.class)
    void attentionAgreesWithTheSpecification(MlaForm form) {
        for (MlaShape shape : List.of(LayerCase.mini(), LayerCase.odd())) {
            for (KvFormat format : List.of(KvFormat.F32, KvFormat.BF16)) {
                LayerCase layer = layer(shape, QuantFormat.BF16);
                StepCase step = step(layer, format, 1, new int[] {0, 63, 1300}, new int[] {5, 3, 1});
                LayerRun expected = new LayerRun(scalar, layer, step, form, 127);
                LayerRun actual = new LayerRun(vector, layer, step, form, 127);
                expected.query.copyFrom(random.floats(expected.query.byteSize() / 4, 1));
                expected.indexQuery.copyFrom(random.floats(expected.indexQuery.byteSize() / 4, 1));
                expected.headWeights.copyFrom(random.floats(expected.headWeights.byteSize() / 4, 1));
                expected.select().attend(expected.selection);
                actual.inputsOf(expected).attend(expected.selection);
                Floats.assertClose(actual.y, expected.y, shape.vDim(), 2e-5);
                Selection dense = dense(step);
                actual.attend(dense);
                expected.attend(dense);
                Floats.assertClose(actual.y, expected.y, shape.vDim(), 2e-5);
            }
        }
    }

    @Test
    void sharpAttentionIgnoresWhatWouldUnderflow() {
        LayerCase layer = layer(LayerCase.mini(), QuantFormat.F32);
        StepCase step = step(layer, KvFormat.F32, 0, new int[] {700}, new int[] {2});
        LayerRun expected = new LayerRun(scalar, layer, step, MlaForm.ABSORBED, 8);
        LayerRun actual = new LayerRun(vector, layer, step, MlaForm.ABSORBED, 8);
        expected.query.copyFrom(random.floats(expected.query.byteSize() / 4, 300));
        actual.inputsOf(expected).attend(dense(step));
        expected.attend(dense(step));
        Floats.assertClose(actual.y, expected.y, 64, 1e-3);
    }

    @Test
    void absorbedAndNaiveFormsAgree() {
        LayerCase layer = layer(LayerCase.mini(), QuantFormat.BF16);
        StepCase step = step(layer, KvFormat.F32, 0, new int[] {0, 500}, new int[] {70, 2});
        MemorySegment x = random.floats((long) step.rows() * 256, 1);
        LayerRun absorbed = new LayerRun(vector, layer, step, MlaForm.ABSORBED, DENSE).run(x, 0, step.rows());
        LayerRun naive = new LayerRun(vector, layer, step, MlaForm.NAIVE, DENSE).run(x, 0, step.rows());
        Floats.assertClose(absorbed.y, naive.y, 64, 1e-4);
    }

    @Test
    void sparseAttentionWithRoomForEverythingIsDense() {
        LayerCase layer = layer(LayerCase.mini(), QuantFormat.BF16);
        StepCase step = step(layer, KvFormat.BF16, 1, new int[] {600}, new int[] {7});
        MemorySegment x = random.floats(7L * 256, 1);
        LayerRun sparse = new LayerRun(vector, layer, step, MlaForm.ABSORBED, 607).run(x, 0, 7);
        MemorySegment bySparse = Floats.copy(sparse.y);
        Floats.assertSameBits(sparse.attend(dense(step)).y, bySparse);
        Selection listed = new Selection(7, 607);
        listed.firstSlot(1);
        for (int row = 0; row < 7; row++) {
            int[] slots = new int[601 + row];
            for (int i = 0; i < slots.length; i++) {
                slots[i] = 1 + i;
            }
            listed.select(row, slots, slots.length);
        }
        Floats.assertSameBits(sparse.attend(listed).y, bySparse);
    }

    @ParameterizedTest
    @EnumSource(MlaForm.class)
    void everySplitIntoCallsAndThreadsGivesTheSameBytes(MlaForm form) {
        LayerCase layer = layer(LayerCase.mini(), QuantFormat.BF16);
        StepCase step = step(layer, KvFormat.BF16, 0, new int[] {0, 130, 1400}, new int[] {100, 5, 2});
        int rows = step.rows();
        MemorySegment x = random.floats((long) rows * 256, 1);
        LayerRun whole = new LayerRun(vector, layer, step, form, 32).run(x, 0, rows);
        for (int threads : new int[] {1, 3}) {
            try (VectorKernels other = started(threads)) {
                assertSameRun(new LayerRun(other, layer, step, form, 32).run(x, 0, rows), whole);
            }
        }
        LayerRun singles = new LayerRun(vector, layer, step, form, 32);
        for (int row = 0; row < rows; row++) {
            singles.run(x, row, 1);
        }
        assertSameRun(singles, whole);
        LayerRun parts = new LayerRun(vector, layer, step, form, 32);
        int from = 0;
        while (from < rows) {
            int count = Math.min(rows - from, 1 + random.below(11));
            parts.run(x, from, count);
            from += count;
        }
        assertSameRun(parts, whole);
    }

    @ParameterizedTest
    @CsvSource({"BF16, BF16", "W8A8, INT8", "W4A8, INT8"})
    void stopsAllocatingAfterTheFirstStep(QuantFormat format, KvFormat kv) {
        LayerCase layer = layer(LayerCase.mini(), format);
        StepCase step = step(layer, kv, 0, new int[] {300}, new int[] {8});
        MemorySegment x = random.floats(8L * 256, 1);
        LayerRun run = new LayerRun(vector, layer, step, MlaForm.ABSORBED, 32);
        run.run(x, 0, 8);
        long afterWarmUp = vector.scratchAllocations();
        assertThat(afterWarmUp).isPositive();
        for (int i = 0; i < 20; i++) {
            run.run(x, 0, 8).run(x, 3, 1);
        }
        assertThat(vector.scratchAllocations()).isEqualTo(afterWarmUp);
    }

    /// Integers need a worker's widened weights and rounded index queries; besides, its rounded queries in
    /// the absorbed form, and rounded latents with widened weights in the naive one.
    @ParameterizedTest
    @CsvSource({
        "BF16, BF16, ABSORBED, 7", "BF16, BF16, NAIVE, 8",
        "W8A8, INT8, ABSORBED, 10", "W8A8, INT8, NAIVE, 12"
    })
    void sizesTheScratchOfEveryWorkerBeforeItsFirstChunk(
            QuantFormat format, KvFormat kv, MlaForm form, int buffersOfAWorker) {
        LayerCase layer = layer(LayerCase.mini(), format);
        StepCase step = step(layer, kv, 0, new int[] {300}, new int[] {8});
        MemorySegment x = random.floats(8L * 256, 1);
        long[] allocations = new long[4];
        for (int threads = 1; threads < 4; threads++) {
            // Not started: the caller alone computes, so no other worker gets a chunk.
            try (VectorKernels kernels = new VectorKernels(threads)) {
                new LayerRun(kernels, layer, step, form, 32).run(x, 0, 8);
                allocations[threads] = kernels.scratchAllocations();
            }
        }
        assertThat(allocations[2] - allocations[1]).isEqualTo(buffersOfAWorker);
        assertThat(allocations[3] - allocations[2]).isEqualTo(buffersOfAWorker);
    }

    private static void assertSameRun(LayerRun actual, LayerRun expected) {
        Floats.assertSameBits(actual.query, expected.query);
        Floats.assertSameBits(actual.pool(), expected.pool());
        Floats.assertSameBits(actual.indexQuery, expected.indexQuery);
        Floats.assertSameBits(actual.headWeights, expected.headWeights);
        Floats.assertSameBits(actual.y, expected.y);
    }

    private static void assertSameSelection(Selection actual, Selection expected, int rows) {
        for (int row = 0; row < rows; row++) {
            assertThat(actual.count(row)).isEqualTo(expected.count(row));
            assertThat(actual.selectsAll(row)).isEqualTo(expected.selectsAll(row));
            for (int rank = 0; rank < expected.count(row); rank++) {
                assertThat(actual.slot(row, rank))
                        .as("row %d rank %d", row, rank)
                        .isEqualTo(expected.slot(row, rank));
            }
        }
    }

    private static Selection dense(StepCase step) {
        Selection dense = new Selection(step.rows(), 1);
        dense.firstSlot(step.batch.firstSlot());
        for (int row = 0; row < step.rows(); row++) {
            dense.selectAll(row, step.batch.visible(row));
        }
        return dense;
    }

    private LayerCase layer(MlaShape shape, QuantFormat format) {
        return new LayerCase(random, shape, format, 8, shape.ropeDim() + 32);
    }

    private StepCase step(LayerCase layer, KvFormat format, int firstSlot, int[] pasts, int[] counts) {
        return new StepCase(random, layer, format, firstSlot, pasts, counts);
    }

    private static VectorKernels started(int threads) {
        VectorKernels kernels = new VectorKernels(threads);
        kernels.start();
        return kernels;
    }
}
