package io.millrace.kernels;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.kernels.scalar.ScalarKernels;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/// What weights are made of is checked when they are put together.
class WeightsTest {
    private static final int EXPERTS = 4;
    private static final int HIDDEN = 8;
    private static final int WIDTH = 6;

    private final SeededRandom random = SeededRandom.of("WeightsTest");
    private final ScalarKernels kernels = new ScalarKernels();

    @Test
    void everyExpertHasTheWidthOfTheGate() {
        List<GatedMlpWeights> experts = experts();
        experts.set(3, mlp(HIDDEN + 1));
        assertThatThrownBy(() -> moe(experts))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("expert 3.gate: [6, 9] (expected: [6, 8])");
    }

    @Test
    void everyExpertIsPackedAsTheGateIs() {
        List<GatedMlpWeights> experts = experts();
        GatedMlpWeights own = experts.get(2);
        experts.set(2, new GatedMlpWeights(own.gate(), foreign(own.up()), own.down()));
        assertThatThrownBy(() -> moe(experts))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("expert 2.up: layout foreign (expected: ");
    }

    @Test
    void everyExpertHasTheRotationOfTheFirst() {
        List<GatedMlpWeights> experts = experts();
        GatedMlpWeights own = experts.get(1);
        experts.set(1, new GatedMlpWeights(own.gate(), own.up(), own.down(), 2));
        assertThatThrownBy(() -> moe(experts))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("expert 1: rotation 2 (expected: 1, as expert 0)");
    }

    @Test
    void thereAreAsManyExpertsAsTheGateHasOutputs() {
        assertThatThrownBy(() -> moe(experts().subList(0, 3)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("experts: 3 (expected: 4)");
    }

    @Test
    void everyHeadHasTheSizesOfTheShape() {
        MlaWeights good = new LayerCase(random, LayerCase.mini(), QuantFormat.F32, 2, 16).pack(kernels);
        List<PackedMatrix> shorter = new ArrayList<>(good.valueUp());
        shorter.set(1, packed(3, 128));
        assertThatThrownBy(() -> withValues(good, shorter))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("valueUp 1: [3, 128] (expected: [64, 64])");
        List<PackedMatrix> other = new ArrayList<>(good.valueUp());
        other.set(2, foreign(other.get(2)));
        assertThatThrownBy(() -> withValues(good, other))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("valueUp 2: layout foreign (expected: ");
        assertThatThrownBy(() -> withValues(good, good.valueUp().subList(0, 3)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("valueUp: 3 (expected: 4)");
    }

    private static MlaWeights withValues(MlaWeights w, List<PackedMatrix> list) {
        PackedMatrices values = PackedMatrices.of(head -> "valueUp " + head, list);
        return new MlaWeights(
                w.shape(),
                w.inputNorm(),
                w.qA(),
                w.qANorm(),
                w.qB(),
                w.kvA(),
                w.kvANorm(),
                w.keyUp(),
                w.keyAbsorb(),
                values,
                w.output());
    }

    private MoeWeights moe(List<GatedMlpWeights> experts) {
        ExpertGating gating = new ExpertGating(EXPERTS, 2, 1, 1, true, 1f);
        RoutedExperts all = RoutedExperts.of("expert ", experts);
        return new MoeWeights(gating, packed(EXPERTS, HIDDEN), Floats.zeros(EXPERTS), all, mlp(HIDDEN));
    }

    private List<GatedMlpWeights> experts() {
        List<GatedMlpWeights> experts = new ArrayList<>();
        for (int e = 0; e < EXPERTS; e++) {
            experts.add(mlp(HIDDEN));
        }
        return experts;
    }

    private GatedMlpWeights mlp(int hidden) {
        return new GatedMlpWeights(packed(WIDTH, hidden), packed(WIDTH, hidden), packed(hidden, WIDTH));
    }

    private PackedMatrix packed(int outputs, int inputs) {
        return kernels.pack(random.matrix(QuantFormat.F32, outputs, inputs, 0), Arena.ofAuto());
    }

    private static PackedMatrix foreign(PackedMatrix m) {
        return new PackedMatrix(m.format(), m.outFeatures(), m.inFeatures(), "foreign", m.data());
    }
}
