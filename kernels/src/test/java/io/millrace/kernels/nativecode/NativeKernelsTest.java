package io.millrace.kernels.nativecode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.kernels.ExpertGating;
import io.millrace.kernels.Floats;
import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.LayerCase;
import io.millrace.kernels.LayerRun;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.MlaShape;
import io.millrace.kernels.MoeWeights;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.RopeStyle;
import io.millrace.kernels.RoutedExperts;
import io.millrace.kernels.SeededRandom;
import io.millrace.kernels.StepCase;
import io.millrace.kernels.WeightQuantizer;
import io.millrace.kernels.WeightSource;
import io.millrace.kernels.WidestInt8;
import io.millrace.kernels.scalar.ScalarKernels;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class NativeKernelsTest {
    private static final int[] SIZES = {1, 3, 7, 8, 13, 31, 32, 33, 127, 207, 256, 1025};

    private final SeededRandom random = SeededRandom.of("NativeKernelsTest");
    private final ScalarKernels scalar = new ScalarKernels();

    static NativeKernels started(int threads, IsaLevel level) {
        NativeKernels kernels = NativeKernels.open(threads, Optional.of(level));
        kernels.start();
        return kernels;
    }

    static WeightSource in(QuantFormat format, MatrixView matrix) {
        return switch (format) {
            case F32, BF16 -> matrix;
            case W8A8 -> WeightQuantizer.int8(matrix, Arena.ofAuto());
            case W4A8 -> WeightQuantizer.int4(matrix, 32, Arena.ofAuto());
        };
    }

    private static MemorySegment linear(Kernels kernels, WeightSource matrix, MemorySegment x, int rows) {
        MemorySegment y = Floats.zeros((long) rows * matrix.rows());
        kernels.linear(kernels.pack(matrix, Arena.ofAuto()), x, rows, y);
        return y;
    }

    @Test
    void everyLevelSumsTheWidestInt8MatrixExactly() {
        List<NativeKernels> levels = everyLevel();
        levels.forEach(WidestInt8::assertExact);
        levels.forEach(NativeKernels::close);
    }

    @ParameterizedTest
    @EnumSource(QuantFormat.class)
    void productsAgreeWithTheSpecificationAtEveryLevel(QuantFormat format) {
        List<NativeKernels> levels = everyLevel();
        for (int in : SIZES) {
            for (int out : new int[] {1, 15, 16, 33, 127}) {
                int rows = 1 + random.below(13);
                WeightSource matrix = in(format, random.matrix(floats(format), out, in, 0));
                MemorySegment x = random.floats((long) rows * in, 1);
                MemorySegment expected = linear(scalar, matrix, x, rows);
                MemorySegment first = linear(levels.getFirst(), matrix, x, rows);
                if (format.isInteger()) {
                    Floats.assertSameBits(first, expected);
                } else {
                    Floats.assertClose(first, expected, out, 2e-5);
                }
                for (NativeKernels kernels : levels) {
                    Floats.assertSameBits(linear(kernels, matrix, x, rows), first);
                }
            }
        }
        levels.forEach(NativeKernels::close);
    }

    private static List<NativeKernels> everyLevel() {
        List<NativeKernels> kernels = new ArrayList<>();
        for (IsaLevel level : NativeKernels.levels()) {
            kernels.add(started(2, level));
        }
        return kernels;
    }

    @ParameterizedTest
    @EnumSource(QuantFormat.class)
    void rowsDoNotDependOnTheirBatchOrTheThreads(QuantFormat format) {
        WeightSource matrix = in(format, random.matrix(floats(format), 333, 129, 0));
        MemorySegment x = random.floats(70L * 129, 1);
        for (IsaLevel level : NativeKernels.levels()) {
            try (NativeKernels one = started(1, level);
                    NativeKernels two = started(2, level)) {
                MemorySegment whole = linear(one, matrix, x, 70);
                Floats.assertSameBits(linear(two, matrix, x, 70), whole);
                for (int count : new int[] {1, 2, 3, 4, 5, 6, 7, 8, 13}) {
                    int from = random.below(70 - count);
                    MemorySegment part = linear(two, matrix, Floats.rows(x, from, count, 129), count);
                    Floats.assertSameBits(part, Floats.rows(whole, from, count, 333));
                }
            }
        }
    }

    private record Mixture(
            ExpertGating gating, MatrixView gate, MemorySegment bias, List<WeightSource> matrices, int rotation) {
        MemorySegment run(Kernels kernels, MemorySegment x, int rows) {
            Arena arena = Arena.ofAuto();
            List<GatedMlpWeights> experts = new ArrayList<>();
            for (int e = 0; e <= gating.experts(); e++) {
                experts.add(new GatedMlpWeights(
                        kernels.pack(matrices.get(3 * e), arena),
                        kernels.pack(matrices.get(3 * e + 1), arena),
                        kernels.pack(matrices.get(3 * e + 2), arena),
                        rotation));
            }
            MemorySegment y = Floats.zeros((long) rows * gate.columns());
            RoutedExperts routed = RoutedExperts.of("expert ", experts.subList(0, gating.experts()));
            var weights = new MoeWeights(gating, kernels.pack(gate, arena), bias, routed, experts.getLast());
            kernels.moeExperts(weights, x, rows, y);
            MemorySegment dense = Floats.zeros((long) rows * gate.columns());
            kernels.gatedMlp(experts.getFirst(), x, rows, dense);
            kernels.add(dense, y, (long) rows * gate.columns());
            return y;
        }
    }

    private void agreesWithTheSpecification(Mixture mixture, MemorySegment x, int rows, double tolerance) {
        MemorySegment expected = mixture.run(scalar, x, rows);
        MemorySegment first = null;
        for (IsaLevel level : NativeKernels.levels()) {
            try (NativeKernels kernels = started(2, level)) {
                MemorySegment y = mixture.run(kernels, x, rows);
                Floats.assertClose(y, expected, mixture.gate.columns(), tolerance);
                if (first != null) {
                    Floats.assertSameBits(y, first);
                }
                first = y;
            }
        }
    }

    /// A checkpoint may leave some of its experts as they were.
    @ParameterizedTest
    @EnumSource(QuantFormat.class)
    void expertsOfALayerMayDifferInFormat(QuantFormat first) {
        ExpertGating gating = new ExpertGating(8, 3, 1, 1, true, 2.5f);
        int hidden = 127;
        int width = 48;
        List<QuantFormat> formats = new ArrayList<>(List.of(QuantFormat.values()));
        Collections.rotate(formats, -formats.indexOf(first));
        List<WeightSource> matrices = new ArrayList<>();
        for (int e = 0; e <= gating.experts(); e++) {
            QuantFormat format = formats.get(e % formats.size());
            matrices.add(in(format, random.matrix(floats(format), width, hidden, 0)));
            matrices.add(in(format, random.matrix(floats(format), width, hidden, 0)));
            matrices.add(in(format, random.matrix(floats(format), hidden, width, 0)));
        }
        MatrixView gate = random.matrix(QuantFormat.F32, gating.experts(), hidden, 0);
        Mixture mixture = new Mixture(gating, gate, random.floats(gating.experts(), 0.1), matrices, 16);
        for (int rows : new int[] {1, 3, 40}) {
            agreesWithTheSpecification(mixture, random.floats((long) hidden * rows, 1), rows, 2e-2);
        }
    }

    @ParameterizedTest
    @EnumSource(QuantFormat.class)
    void feedForwardsAgreeWithTheSpecification(QuantFormat format) {
        List<ExpertGating> gatings = List.of(
                new ExpertGating(8, 2, 1, 1, true, 2.5f),
                new ExpertGating(12, 3, 4, 2, true, 1.5f),
                new ExpertGating(3, 1, 1, 1, false, 2f));
        for (ExpertGating gating : gatings) {
            int hidden = 127;
            int width = 48;
            List<WeightSource> matrices = new ArrayList<>();
            for (int e = 0; e <= gating.experts(); e++) {
                matrices.add(in(format, random.matrix(floats(format), width, hidden, 0)));
                matrices.add(in(format, random.matrix(floats(format), width, hidden, 0)));
                matrices.add(in(format, random.matrix(floats(format), hidden, width, 0)));
            }
            MatrixView gate = random.matrix(QuantFormat.F32, gating.experts(), hidden, 0);
            MemorySegment bias = random.floats(gating.experts(), 0.1);
            Mixture mixture = new Mixture(gating, gate, bias, matrices, format.isInteger() ? 16 : 1);
            for (int rows : new int[] {1, 3, 40}) {
                MemorySegment x = random.floats((long) hidden * rows, 1);
                // An ulp before a rounding can move a code by one, 1/127 of the row's largest.
                agreesWithTheSpecification(mixture, x, rows, format.isInteger() ? 2e-2 : 2e-5);
            }
        }
    }

    static QuantFormat floats(QuantFormat format) {
        return format == QuantFormat.BF16 ? format : QuantFormat.F32;
    }

    private static MlaShape wide() {
        return new MlaShape(96, 7, 64, 128, 48, 64, 32, RopeStyle.INTERLEAVED, 1e-5f, 1e-6f, 0.1f);
    }

    @ParameterizedTest
    @EnumSource(KvFormat.class)
    void selectionAndAttentionAgreeWithTheSpecification(KvFormat format) {
        for (MlaShape shape : new MlaShape[] {LayerCase.mini(), LayerCase.odd(), wide()}) {
            LayerCase layer = new LayerCase(random, shape, QuantFormat.F32, 5, shape.ropeDim() + 8);
            for (int firstSlot = 0; firstSlot < 2; firstSlot++) {
                StepCase step =
                        new StepCase(random, layer, format, firstSlot, new int[] {0, 700, 90}, new int[] {9, 3, 70});
                MemorySegment x = random.floats((long) step.rows() * shape.hiddenSize(), 1);
                LayerRun expected = new LayerRun(scalar, layer, step, MlaForm.ABSORBED, 64).prolog(x, true);
                expected.select().attend(expected.selection);
                LayerRun first = null;
                for (IsaLevel level : NativeKernels.levels()) {
                    try (NativeKernels kernels = started(2, level)) {
                        LayerRun run = new LayerRun(kernels, layer, step, MlaForm.ABSORBED, 64).prolog(x, true);
                        Floats.assertClose(run.query, expected.query, shape.cacheRow(), 3e-5);
                        Floats.assertClose(run.indexQuery, expected.indexQuery, layer.indexDim, 3e-5);
                        Floats.assertClose(run.headWeights, expected.headWeights, layer.indexHeads, 3e-5);
                        if (format == KvFormat.F32) {
                            Floats.assertClose(run.pool(), expected.pool(), 64, 3e-5);
                        }
                        run.inputsOf(expected).select();
                        for (int row = 0; row < step.rows(); row++) {
                            assertThat(run.selection.count(row)).isEqualTo(expected.selection.count(row));
                            for (int rank = 0; rank < run.selection.count(row); rank++) {
                                assertThat(run.selection.slot(row, rank)).isEqualTo(expected.selection.slot(row, rank));
                            }
                        }
                        run.attend(expected.selection);
                        Floats.assertClose(run.y, expected.y, shape.heads() * shape.vDim(), 5e-5);
                        if (first != null) {
                            Floats.assertSameBits(run.y, first.y);
                        }
                        first = run;
                    }
                }
            }
        }
    }

    /// Whole layer, prolog to attention: split into calls of any size it gives the same bytes and the
    /// same pages.
    @ParameterizedTest
    @EnumSource(KvFormat.class)
    void everySplitIntoCallsThreadsAndLevelsGivesTheSameBytes(KvFormat format) {
        LayerCase layer = new LayerCase(random, wide(), QuantFormat.W8A8, 8, 64);
        StepCase step = new StepCase(random, layer, format, 0, new int[] {600}, new int[] {40});
        MemorySegment x = random.floats((long) step.rows() * layer.shape.hiddenSize(), 1);
        LayerRun whole;
        try (NativeKernels kernels = started(2, IsaLevel.PORTABLE)) {
            whole = new LayerRun(kernels, layer, step, MlaForm.ABSORBED, 530).run(x, 0, step.rows());
        }
        for (IsaLevel level : NativeKernels.levels()) {
            for (int threads = 1; threads <= 2; threads++) {
                try (NativeKernels kernels = started(threads, level)) {
                    LayerRun parts = new LayerRun(kernels, layer, step, MlaForm.ABSORBED, 530);
                    for (int from = 0; from < step.rows(); ) {
                        int count = Math.min(step.rows() - from, 1 + random.below(12));
                        parts.run(x, from, count);
                        from += count;
                    }
                    Floats.assertSameBits(parts.y, whole.y);
                    Floats.assertSameBits(parts.pool(), whole.pool());
                }
            }
        }
    }

    @Test
    void stopsAllocatingAfterTheFirstStep() {
        LayerCase layer = new LayerCase(random, wide(), QuantFormat.W8A8, 8, 64);
        StepCase step = new StepCase(random, layer, KvFormat.INT8, 0, new int[] {600}, new int[] {40});
        MemorySegment x = random.floats((long) step.rows() * layer.shape.hiddenSize(), 1);
        try (NativeKernels kernels = NativeKernels.open(2, Optional.empty())) {
            LayerRun run = new LayerRun(kernels, layer, step, MlaForm.ABSORBED, 300).run(x, 0, step.rows());
            long after = kernels.scratchAllocations();
            for (int i = 0; i < 5; i++) {
                run.run(x, 0, step.rows());
            }
            assertThat(kernels.scratchAllocations()).isEqualTo(after);
        }
    }

    @Test
    void refusesWhatItCannotCompute() {
        assertThatThrownBy(() -> IsaLevel.parse("sse9")).hasMessageContaining("expected: auto, portable, avx2");
        LayerCase layer = new LayerCase(random, LayerCase.odd(), QuantFormat.F32, 2, 8);
        StepCase step = new StepCase(random, layer, KvFormat.F32, 0, new int[] {3}, new int[] {1});
        try (NativeKernels kernels = NativeKernels.open(1, Optional.empty())) {
            LayerRun run = new LayerRun(kernels, layer, step, MlaForm.NAIVE, 4);
            assertThatThrownBy(() -> run.prolog(random.floats(33, 1), true))
                    .hasMessageContaining("expected: ABSORBED with the native provider");
        }
    }
}
