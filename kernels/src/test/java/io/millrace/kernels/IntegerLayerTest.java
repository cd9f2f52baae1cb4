package io.millrace.kernels;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.kernels.scalar.ScalarKernels;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/// Attention with integer weights and int8 keys, for every provider. Norms and rotations are floats that
/// may differ in the last bit, and rounding turns that into a step of one code: so whole layers agree to
/// a step, and what reads codes is compared from the same codes.
class IntegerLayerTest {
    private static final double STEP = 3e-2;

    private final SeededRandom random = SeededRandom.of("IntegerLayerTest");
    private final ScalarKernels scalar = new ScalarKernels();

    @ParameterizedTest
    @EnumSource
    void prologAgreesWithTheSpecification(ProviderCase provider) {
        try (Kernels kernels = provider.open(2)) {
            for (MlaShape shape : List.of(LayerCase.mini(), LayerCase.odd())) {
                for (QuantFormat format : List.of(QuantFormat.W8A8, QuantFormat.W4A8)) {
                    for (MlaForm form : provider.forms()) {
                        LayerCase layer = layer(shape, format);
                        StepCase step = step(layer, KvFormat.F32, 0, new int[] {0, 65}, new int[] {9, 1});
                        MemorySegment x = random.floats((long) step.rows() * shape.hiddenSize(), 2);
                        LayerRun actual = new LayerRun(kernels, layer, step, form, 8).prolog(x, true);
                        LayerRun expected = new LayerRun(scalar, layer, step, form, 8).prolog(x, true);
                        Floats.assertClose(actual.query, expected.query, shape.heads() * shape.queryRow(form), STEP);
                        Floats.assertClose(
                                actual.indexQuery, expected.indexQuery, layer.indexHeads * layer.indexDim, STEP);
                        Floats.assertClose(actual.headWeights, expected.headWeights, layer.indexHeads, STEP);
                    }
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void storesRowsAsCodesWithinAStepOfTheSpecification(ProviderCase provider) {
        try (Kernels kernels = provider.open(2)) {
            for (MlaShape shape : List.of(LayerCase.mini(), LayerCase.odd())) {
                LayerCase layer = layer(shape, QuantFormat.F32);
                StepCase step = step(layer, KvFormat.INT8, 1, new int[] {62, 3}, new int[] {4, 1});
                MemorySegment x = random.floats((long) step.rows() * shape.hiddenSize(), 2);
                LayerRun actual = new LayerRun(kernels, layer, step, MlaForm.ABSORBED, 8).prolog(x, true);
                LayerRun expected = new LayerRun(scalar, layer, step, MlaForm.ABSORBED, 8).prolog(x, true);
                for (int row = 0; row < step.rows(); row++) {
                    sameRow(actual.latent, expected.latent, step, row);
                    sameRow(actual.keys, expected.keys, step, row);
                }
                assertOthersUntouched(actual, step);
            }
        }
    }

    private static void sameRow(PagedRows actual, PagedRows expected, StepCase step, int row) {
        int[] pages = step.batch.pages(row);
        int slot = step.batch.slot(row);
        for (int part = 0; part < expected.parts(); part++) {
            assertThat(scale(actual, pages, slot, part))
                    .isCloseTo(scale(expected, pages, slot, part), Percentage.withPercentage(0.01));
        }
        for (int i = 0; i < expected.rowElements(); i++) {
            int wanted = code(expected, pages, slot, i);
            assertThat(code(actual, pages, slot, i)).as("element %d", i).isBetween(wanted - 1, wanted + 1);
        }
    }

    /// Every byte of the pool that differs from what was there belongs to a row of the step.
    private static void assertOthersUntouched(LayerRun run, StepCase step) {
        MemorySegment after = Floats.copy(run.pool());
        for (int row = 0; row < step.rows(); row++) {
            for (PagedRows rows : List.of(run.latent, run.keys)) {
                int[] pages = step.batch.pages(row);
                int slot = step.batch.slot(row);
                restore(after, step, rows.rowOffset(pages, slot), rows.rowElements());
                restore(after, step, rows.scaleOffset(pages, slot), (long) rows.parts() * Float.BYTES);
            }
        }
        Floats.assertSameBits(after, step.latent.pool());
    }

    private static void restore(MemorySegment pool, StepCase step, long at, long bytes) {
        MemorySegment.copy(step.latent.pool(), at, pool, at, bytes);
    }

    private static float scale(PagedRows rows, int[] pages, int slot, int part) {
        return rows.pool().get(ValueLayout.JAVA_FLOAT_UNALIGNED, rows.scaleOffset(pages, slot) + 4L * part);
    }

    private static int code(PagedRows rows, int[] pages, int slot, int i) {
        return rows.pool().get(ValueLayout.JAVA_BYTE, rows.rowOffset(pages, slot) + i);
    }

    @ParameterizedTest
    @EnumSource
    void selectsExactlyTheSpecifiedSlots(ProviderCase provider) {
        try (Kernels kernels = provider.open(2)) {
            for (int topK : new int[] {1, 7, 64, 127}) {
                LayerCase layer = new LayerCase(random, LayerCase.odd(), QuantFormat.F32, 5, 7 + 40 * (topK % 2));
                StepCase step =
                        step(layer, KvFormat.INT8, topK % 2, new int[] {0, 200, 1100, 3}, new int[] {90, 3, 1, 1});
                LayerRun actual = new LayerRun(kernels, layer, step, MlaForm.ABSORBED, topK);
                LayerRun expected = new LayerRun(scalar, layer, step, MlaForm.ABSORBED, topK);
                expected.indexQuery.copyFrom(random.floats(expected.indexQuery.byteSize() / 4, 1));
                expected.headWeights.copyFrom(random.floats(expected.headWeights.byteSize() / 4, 1));
                actual.inputsOf(expected).select();
                expected.select();
                for (int row = 0; row < step.rows(); row++) {
                    assertThat(actual.selection.count(row)).isEqualTo(expected.selection.count(row));
                    for (int rank = 0; rank < expected.selection.count(row); rank++) {
                        assertThat(actual.selection.slot(row, rank))
                                .as("row %d rank %d", row, rank)
                                .isEqualTo(expected.selection.slot(row, rank));
                    }
                }
            }
        }
    }

    /// Queries and keys are the same numbers on both sides, so the tolerance is that of floats; W_UV is left in
    /// floats for it.
    @ParameterizedTest
    @EnumSource
    void attentionOverCodesAgreesWithTheSpecification(ProviderCase provider) {
        try (Kernels kernels = provider.open(2)) {
            for (MlaShape shape : List.of(LayerCase.mini(), LayerCase.odd())) {
                for (MlaForm form : provider.forms()) {
                    LayerCase layer = layer(shape, QuantFormat.F32);
                    StepCase step = step(layer, KvFormat.INT8, 1, new int[] {0, 63, 1300}, new int[] {5, 3, 1});
                    LayerRun expected = new LayerRun(scalar, layer, step, form, 127);
                    LayerRun actual = new LayerRun(kernels, layer, step, form, 127);
                    expected.query.copyFrom(random.floats(expected.query.byteSize() / 4, 1));
                    expected.indexQuery.copyFrom(random.floats(expected.indexQuery.byteSize() / 4, 1));
                    expected.headWeights.copyFrom(random.floats(expected.headWeights.byteSize() / 4, 1));
                    expected.select().attend(expected.selection);
                    actual.inputsOf(expected).attend(expected.selection);
                    Floats.assertClose(actual.y, expected.y, shape.vDim(), 3e-5);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void everySplitIntoCallsAndThreadsGivesTheSameBytes(ProviderCase provider) {
        for (QuantFormat format : List.of(QuantFormat.W8A8, QuantFormat.W4A8)) {
            for (MlaForm form : provider.forms()) {
                LayerCase layer = layer(LayerCase.mini(), format);
                StepCase step = step(layer, KvFormat.INT8, 0, new int[] {0, 130, 700}, new int[] {70, 5, 2});
                int rows = step.rows();
                MemorySegment x = random.floats((long) rows * 256, 1);
                try (Kernels one = provider.open(1);
                        Kernels two = provider.open(2)) {
                    LayerRun whole = new LayerRun(two, layer, step, form, 32).run(x, 0, rows);
                    assertSameRun(new LayerRun(one, layer, step, form, 32).run(x, 0, rows), whole);
                    LayerRun singles = new LayerRun(two, layer, step, form, 32);
                    for (int row = 0; row < rows; row++) {
                        singles.run(x, row, 1);
                    }
                    assertSameRun(singles, whole);
                    LayerRun parts = new LayerRun(two, layer, step, form, 32);
                    for (int from = 0; from < rows; ) {
                        int count = Math.min(rows - from, 1 + random.below(11));
                        parts.run(x, from, count);
                        from += count;
                    }
                    assertSameRun(parts, whole);
                }
            }
        }
    }

    private static void assertSameRun(LayerRun actual, LayerRun expected) {
        Floats.assertSameBits(actual.query, expected.query);
        Floats.assertSameBits(actual.pool(), expected.pool());
        Floats.assertSameBits(actual.indexQuery, expected.indexQuery);
        Floats.assertSameBits(actual.headWeights, expected.headWeights);
        Floats.assertSameBits(actual.y, expected.y);
    }

    @ParameterizedTest
    @EnumSource
    void feedForwardsComeWithinAStepOfTheSpecification(ProviderCase provider) {
        ExpertGating gating = new ExpertGating(16, 4, 1, 1, true, 2.5f);
        try (Kernels kernels = provider.open(2)) {
            for (QuantFormat format : List.of(QuantFormat.W8A8, QuantFormat.W4A8)) {
                for (int rows : new int[] {1, 3, 40}) {
                    MixtureCase mixture = MixtureCase.of(random, gating, format, 127, 32);
                    MemorySegment x = random.floats(127L * rows, 1);
                    Floats.assertClose(mixture.run(kernels, x, rows), mixture.run(scalar, x, rows), 127, STEP);
                }
            }
        }
    }

    private LayerCase layer(MlaShape shape, QuantFormat format) {
        return new LayerCase(random, shape, format, 8, shape.ropeDim() + 32);
    }

    private StepCase step(LayerCase layer, KvFormat format, int firstSlot, int[] pasts, int[] counts) {
        return new StepCase(random, layer, format, firstSlot, pasts, counts);
    }
}
