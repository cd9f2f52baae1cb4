package io.millrace.kernels.nativecode;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;
import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.kernels.ExpertGating;
import io.millrace.kernels.Floats;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.LayerCase;
import io.millrace.kernels.LayerRun;
import io.millrace.kernels.MixtureCase;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.PagedRows;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.SeededRandom;
import io.millrace.kernels.StepCase;
import io.millrace.kernels.scalar.ScalarKernels;
import io.millrace.kernels.vector.VectorKernels;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/// A NaN in what attention, its indexer or a feed-forward reads: all providers have it where the specification has it,
/// and the same numbers elsewhere.
class BrokenRowsTest {
    private static final short NAN_BITS = 0x7fc0;
    private static final int SEQUENCE = 1;
    private static final int[] PASTS = {3, 300};
    private static final int[] COUNTS = {5, 20};

    private static final List<Kernels> PROVIDERS = new ArrayList<>();

    private final SeededRandom random = SeededRandom.of("BrokenRowsTest");
    private final ScalarKernels scalar = new ScalarKernels();

    /// Where the NaN is.
    private enum Broken {
        LATENT_OF_A_KEY,
        ROPE_OF_A_KEY,
        ROPE_OF_A_KEY_THAT_SOME_ROWS_SEE,
        QUERY,
        INDEX_KEY,
        INDEX_QUERY,
        INDEX_HEAD_WEIGHT
    }

    @BeforeAll
    static void open() {
        VectorKernels vector = new VectorKernels(2);
        vector.start();
        PROVIDERS.add(vector);
        for (IsaLevel level : NativeKernels.levels()) {
            PROVIDERS.add(NativeKernelsTest.started(2, level));
        }
    }

    @AfterAll
    static void close() {
        PROVIDERS.forEach(Kernels::close);
        PROVIDERS.clear();
    }

    @ParameterizedTest
    @EnumSource(KvFormat.class)
    void selectionAndAttentionAreNanWhereTheSpecificationIs(KvFormat format) {
        LayerCase layer = new LayerCase(random, LayerCase.mini(), QuantFormat.F32, 5, 40);
        StepCase step = new StepCase(random, layer, format, 0, PASTS, COUNTS);
        MemorySegment x = random.floats((long) step.rows() * layer.shape.hiddenSize(), 1);
        for (int topK : new int[] {64, 1024}) {
            LayerRun sound = new LayerRun(scalar, layer, step, MlaForm.ABSORBED, topK).prolog(x, true);
            for (Broken broken : Broken.values()) {
                LayerRun expected = new LayerRun(scalar, layer, step, MlaForm.ABSORBED, topK).inputsOf(sound);
                damage(expected, step, broken);
                expected.select().attend(expected.selection);
                for (Kernels kernels : PROVIDERS) {
                    String what = broken + " with " + kernels.description() + ", topK " + topK;
                    LayerRun run = new LayerRun(kernels, layer, step, MlaForm.ABSORBED, topK).inputsOf(expected);
                    run.select().attend(expected.selection);
                    for (int row = 0; row < step.rows(); row++) {
                        assertThat(slots(run, row)).as(what).isEqualTo(slots(expected, row));
                    }
                    assertAgree(what, run.y, expected.y, layer.shape.heads() * layer.shape.vDim());
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(KvFormat.class)
    void aBrokenRowOfInputsBreaksWhatTheSpecificationBreaks(KvFormat format) {
        LayerCase layer = new LayerCase(random, LayerCase.mini(), QuantFormat.F32, 5, 40);
        StepCase step = new StepCase(random, layer, format, 0, PASTS, COUNTS);
        int hidden = layer.shape.hiddenSize();
        MemorySegment x = random.floats((long) step.rows() * hidden, 1);
        x.set(JAVA_FLOAT_UNALIGNED, (7L * hidden + 3) * Float.BYTES, Float.NaN);
        LayerRun expected = new LayerRun(scalar, layer, step, MlaForm.ABSORBED, 64).prolog(x, true);
        for (Kernels kernels : PROVIDERS) {
            LayerRun run = new LayerRun(kernels, layer, step, MlaForm.ABSORBED, 64).prolog(x, true);
            String what = kernels.description();
            assertAgree(what, run.query, expected.query, layer.shape.cacheRow());
            assertAgree(what, run.indexQuery, expected.indexQuery, layer.indexDim);
            assertAgree(what, run.headWeights, expected.headWeights, layer.indexHeads);
        }
    }

    @ParameterizedTest
    @EnumSource(QuantFormat.class)
    void aBrokenRowBreaksItsOwnFeedForwardAlone(QuantFormat format) {
        int hidden = 96;
        MixtureCase mixture = MixtureCase.of(random, new ExpertGating(8, 2, 1, 1, true, 2.5f), format, hidden, 40);
        MemorySegment x = random.floats(5L * hidden, 1);
        x.set(JAVA_FLOAT_UNALIGNED, (2L * hidden + 50) * Float.BYTES, Float.NaN);
        MemorySegment expected = mixture.run(scalar, x, 5);
        for (Kernels kernels : PROVIDERS) {
            MemorySegment y = mixture.run(kernels, x, 5);
            // An ulp before a rounding can move a code by one, 1/127 of the row's largest.
            assertAgree(kernels.description(), y, expected, hidden, format.isInteger() ? 2e-2 : 2e-5);
        }
    }

    private static void damage(LayerRun run, StepCase step, Broken broken) {
        int row = COUNTS[0] + 6;
        int latent = run.latent.firstPart();
        switch (broken) {
            case LATENT_OF_A_KEY -> damageKey(run.latent, step, 70, latent / 2, 0);
            case ROPE_OF_A_KEY -> damageKey(run.latent, step, 71, latent + 3, 1);
            case ROPE_OF_A_KEY_THAT_SOME_ROWS_SEE ->
                damageKey(run.latent, step, PASTS[SEQUENCE] + COUNTS[SEQUENCE] / 2, latent + 1, 1);
            case QUERY -> damage(run.query, step, row);
            case INDEX_KEY -> damageKey(run.keys, step, 150, 17, 0);
            case INDEX_QUERY -> damage(run.indexQuery, step, row);
            case INDEX_HEAD_WEIGHT -> damage(run.headWeights, step, row);
        }
    }

    /// The first element of a row.
    private static void damage(MemorySegment matrix, StepCase step, int row) {
        matrix.set(JAVA_FLOAT_UNALIGNED, matrix.byteSize() / step.rows() * row, Float.NaN);
    }

    private static void damageKey(PagedRows rows, StepCase step, int slot, int element, int part) {
        int[] pages = step.pageTables[SEQUENCE];
        long at = rows.rowOffset(pages, slot);
        switch (rows.format()) {
            case F32 -> rows.pool().set(JAVA_FLOAT_UNALIGNED, at + (long) element * Float.BYTES, Float.NaN);
            case BF16 -> rows.pool().set(JAVA_SHORT_UNALIGNED, at + (long) element * Short.BYTES, NAN_BITS);
            case INT8 ->
                rows.pool()
                        .set(
                                JAVA_FLOAT_UNALIGNED,
                                rows.scaleOffset(pages, slot) + (long) part * Float.BYTES,
                                Float.NaN);
        }
    }

    private static List<Integer> slots(LayerRun run, int row) {
        List<Integer> slots = new ArrayList<>();
        for (int rank = 0; rank < run.selection.count(row); rank++) {
            slots.add(run.selection.slot(row, rank));
        }
        return slots;
    }

    private static void assertAgree(String what, MemorySegment actual, MemorySegment expected, int width) {
        assertAgree(what, actual, expected, width, 5e-5);
    }

    private static void assertAgree(
            String what, MemorySegment actual, MemorySegment expected, int width, double tolerance) {
        MemorySegment numbers = Floats.copy(actual);
        MemorySegment wanted = Floats.copy(expected);
        for (long i = 0; i < expected.byteSize() / Float.BYTES; i++) {
            assertThat(Float.isNaN(Floats.get(actual, i)))
                    .as("%s: element %d of row %d is NaN", what, i % width, i / width)
                    .isEqualTo(Float.isNaN(Floats.get(expected, i)));
            if (Float.isNaN(Floats.get(expected, i))) {
                numbers.setAtIndex(JAVA_FLOAT, i, 0);
                wanted.setAtIndex(JAVA_FLOAT, i, 0);
            }
        }
        Floats.assertClose(numbers, wanted, width, tolerance);
    }
}
