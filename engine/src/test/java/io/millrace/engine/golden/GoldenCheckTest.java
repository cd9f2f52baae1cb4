package io.millrace.engine.golden;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.model.TestModels;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class GoldenCheckTest {
    /// Folders whose values were computed after the module had been cast to bfloat16 and back.
    private static final List<String> ROUNDED = List.of("glm5-tiny", "glm52-indexshare-tiny", "deepseek-v32-tiny");

    static Stream<Arguments> cases() {
        List<Arguments> cases = new ArrayList<>();
        for (String provider : TestModels.PROVIDERS) {
            for (String name : TestModels.GOLDEN) {
                cases.add(Arguments.of(name, provider));
            }
            cases.add(Arguments.of(TestModels.MINI, provider));
        }
        return cases.stream();
    }

    private static GoldenResult run(String name, TestModels.Options options) {
        try (LoadedModel model = TestModels.load(name, options);
                GoldenFile golden = GoldenFile.open(TestModels.directory(name).resolve("golden.safetensors"))) {
            return GoldenCheck.run(model, golden);
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void modelEqualsItsReference(String name, String provider) {
        GoldenResult result = run(name, TestModels.Options.of(provider));
        assertThat(result.maxLogitError()).isLessThanOrEqualTo(2e-4);
        assertThat(result.maxHiddenError()).isLessThanOrEqualTo(2e-3);
        assertThat(result.comparedSelections()).isGreaterThanOrEqualTo(result.rows() * 2);
        assertThat(result.differingSelections()).isZero();
        assertThat(result.greedyIds()).isEqualTo(32);
        assertThat(result.greedyEqual()).isTrue();
        assertThat(result.maxLogprobError()).isLessThanOrEqualTo(1e-4);
        assertThat(result.maxMtpLogitError().isPresent()).isEqualTo(name.equals(TestModels.MINI));
        assertThat(result.maxMtpLogitError().orElse(0)).isLessThanOrEqualTo(2e-4);
        assertThat(result.withinTolerance()).isTrue();
        assertThat(result.roundedFrequencies()).isEqualTo(ROUNDED.contains(name));
    }

    @Test
    void aWrongModelIsFarFromItsReference() {
        GoldenResult result = run("glm5-tiny", TestModels.Options.of("scalar").withTopK(11));
        assertThat(result.maxLogitError()).isGreaterThan(1e-2);
        assertThat(result.differingSelections()).isPositive();
        assertThat(result.withinTolerance()).isFalse();
    }
}
