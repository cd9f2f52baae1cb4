package io.millrace.kernels.provider;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.kernels.KvFormat;
import io.millrace.kernels.LayerCase;
import io.millrace.kernels.LayerRun;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.SeededRandom;
import io.millrace.kernels.Selection;
import io.millrace.kernels.StepCase;
import io.millrace.kernels.nativecode.IsaLevel;
import io.millrace.kernels.nativecode.NativeKernels;
import io.millrace.kernels.scalar.ScalarKernels;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KernelProvidersTest {
    @Test
    void autoTakesNativeWhereThereWasACompiler() {
        SelectedKernels selected = KernelProviders.select("auto", 2);
        try (var kernels = selected.kernels()) {
            assertThat(kernels.name()).isEqualTo("native");
            assertThat(kernels.numericsId()).isEqualTo("native-v1");
            assertThat(selected.declinedText()).isEmpty();
            assertThat(kernels.description())
                    .isEqualTo("native (" + NativeKernels.levels().getLast().id() + ")");
        }
        try (var kernels = KernelProviders.select("vector", 1).kernels()) {
            assertThat(kernels.numericsId()).matches("vector-\\d+-v1");
        }
    }

    @Test
    void autoTakesVectorWhereNativeCodeIsOnlyPortable() {
        List<IsaLevel> portable = List.of(IsaLevel.PORTABLE);
        SelectedKernels selected = KernelProviders.select("auto", 1, Optional.empty(), () -> portable);
        try (var kernels = selected.kernels()) {
            assertThat(kernels.name()).isEqualTo("vector");
            assertThat(selected.declinedText()).isEqualTo("; native declined: only portable code for this processor");
        }
        List<IsaLevel> avx2 = List.of(IsaLevel.PORTABLE, IsaLevel.AVX2);
        try (var kernels =
                KernelProviders.select("auto", 1, Optional.empty(), () -> avx2).kernels()) {
            assertThat(kernels.name()).isEqualTo("native");
        }
        try (var kernels = KernelProviders.select("native", 1, Optional.empty(), () -> portable)
                .kernels()) {
            assertThat(kernels.name()).isEqualTo("native");
        }
    }

    @Test
    void aProviderThatIsHereAndCannotRunIsNoSilentFallback() {
        try (var kernels = new ScalarKernels()) {
            var absent = new SelectedKernels.Declined("native", "no library in this build", false);
            var broken = new SelectedKernels.Declined("native", "/tmp: No space left on device", true);
            assertThat(new SelectedKernels(kernels, List.of(absent)).isFallback())
                    .isFalse();
            assertThat(new SelectedKernels(kernels, List.of(broken)).isFallback())
                    .isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"native", "auto"})
    void portableCodeThatIsNamedRuns(String provider) {
        try (var kernels = KernelProviders.select(provider, 1, Optional.of(IsaLevel.PORTABLE))
                .kernels()) {
            assertThat(kernels.description()).isEqualTo("native (portable)");
        }
    }

    @Test
    void vectorDeclinesWithoutItsModule() {
        assertThat(KernelProviders.vectorDeclines(false))
                .hasValueSatisfying(reason -> assertThat(reason).contains("--add-modules jdk.incubator.vector"));
        assertThat(KernelProviders.vectorDeclines(true)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"ascend"})
    void namingAnUnavailableProviderFailsWithTheReason(String provider) {
        assertThatThrownBy(() -> KernelProviders.select(provider, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("kernel provider: " + provider + " is not available: not part of this build"
                        + " (expected: auto, scalar, vector or native)");
    }

    @Test
    void refusesUnknownNamesAndNoThreads() {
        assertThatThrownBy(() -> KernelProviders.select("gpu", 1))
                .hasMessageEndingWith("(expected: auto, scalar, vector or native)");
        assertThatThrownBy(() -> KernelProviders.select("auto", 0)).hasMessageContaining("kernel threads: 0");
    }

    @ParameterizedTest
    @ValueSource(strings = {"scalar", "vector", "native"})
    void aSelectionHoldsRowsThatSelectAllOrNoMoreThanFits(String provider) {
        SeededRandom random = SeededRandom.of("KernelProvidersTest");
        LayerCase layer = new LayerCase(random, LayerCase.odd(), QuantFormat.BF16, 2, 8);
        StepCase step = new StepCase(random, layer, KvFormat.BF16, 0, new int[] {70}, new int[] {2});
        try (var kernels = KernelProviders.select(provider, 1).kernels()) {
            Selection narrow = new Selection(2, 8);
            LayerRun all = new LayerRun(kernels, layer, step, MlaForm.ABSORBED, 72);
            all.prolog(random.floats(66, 1), true).select(narrow);
            assertThat(narrow.selectsAll(1)).isTrue();
            assertThat(narrow.count(1)).isEqualTo(72);
            LayerRun best = new LayerRun(kernels, layer, step, MlaForm.ABSORBED, 71);
            best.prolog(random.floats(66, 1), true);
            assertThatThrownBy(() -> best.select(narrow))
                    .hasMessage("indexer topK: 71 (expected: at most the selection's 8, as row 1 sees 72 slots)");
        }
    }

    /// The capability table: every provider computes every combination of formats and forms.
    @ParameterizedTest
    @ValueSource(strings = {"scalar", "vector"})
    void supportsTheFormatsAndForms(String provider) {
        SeededRandom random = SeededRandom.of("KernelProvidersTest");
        try (var kernels = KernelProviders.select(provider, 1).kernels()) {
            for (QuantFormat weights : QuantFormat.values()) {
                LayerCase layer = new LayerCase(random, LayerCase.odd(), weights, 2, 8);
                for (KvFormat kv : KvFormat.values()) {
                    StepCase step = new StepCase(random, layer, kv, 0, new int[] {70}, new int[] {2});
                    for (MlaForm form : MlaForm.values()) {
                        LayerRun run = new LayerRun(kernels, layer, step, form, 16).run(random.floats(66, 1), 0, 2);
                        float[] y = run.y.toArray(ValueLayout.JAVA_FLOAT);
                        String label = "%s weights, %s rows, %s".formatted(weights, kv, form);
                        assertThat(count(y, Float::isFinite)).as(label).isEqualTo(y.length);
                        // One of them may be zero by chance, as weights and activations are small integers.
                        assertThat(count(y, value -> value != 0)).as(label).isGreaterThan(y.length * 9 / 10);
                        assertThat(run.selection.count(0)).isEqualTo(16);
                    }
                }
            }
        }
    }

    private static int count(float[] values, Predicate<Float> counted) {
        int count = 0;
        for (float value : values) {
            count += counted.test(value) ? 1 : 0;
        }
        return count;
    }
}
