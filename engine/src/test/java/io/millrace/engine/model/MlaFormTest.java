package io.millrace.engine.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.offset;

import io.millrace.kernels.MlaForm;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MlaFormTest {
    @ParameterizedTest
    @ValueSource(strings = {"scalar", "vector"})
    void absorbedEqualsNaiveUpToRounding(String provider) {
        TestModels.Options options = TestModels.Options.of(provider);
        for (String name : TestModels.GOLDEN) {
            try (LoadedModel absorbed = TestModels.load(name, options);
                    LoadedModel naive = TestModels.load(name, options.with(MlaForm.NAIVE));
                    ModelRig absorbedRig = new ModelRig(absorbed, 4);
                    ModelRig naiveRig = new ModelRig(naive, 4)) {
                assertThat(absorbed.numericsId()).isNotEqualTo(naive.numericsId());
                // short enough for everything to be selected: a flipped selection is no rounding error
                int[] tokens = absorbedRig.tokens(3, 12);
                ModelRig.Sequence expected = absorbedRig.finish(absorbedRig.open(tokens), 12);
                ModelRig.Sequence actual = naiveRig.finish(naiveRig.open(tokens), 12);
                for (int row = 0; row < tokens.length; row++) {
                    assertThat(actual.logits.get(row)).containsExactly(expected.logits.get(row), offset(2e-4f));
                }
            }
        }
    }
}
