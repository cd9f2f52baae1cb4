package io.millrace.engine.model;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.IndexerWeights;
import io.millrace.kernels.MlaWeights;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.ScaleAxis;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/// Profiles decide the formats of a loaded model's matrices, and its results stay close to the floats'.
class ProfileTest {

    private static LoadedModel load(WeightProfile profile) {
        return load("glm5-tiny", profile);
    }

    private static LoadedModel load(String name, WeightProfile profile) {
        return TestModels.load(name, TestModels.Options.of("scalar").with(profile));
    }

    @ParameterizedTest
    @EnumSource(
            value = WeightProfile.class,
            names = {"BF16", "W8A8", "W4A8"})
    void everyMatrixHasItsFormat(WeightProfile profile) {
        QuantFormat dense = profile == WeightProfile.BF16 ? QuantFormat.BF16 : QuantFormat.W8A8;
        QuantFormat expert = profile == WeightProfile.W4A8 ? QuantFormat.W4A8 : dense;
        try (LoadedModel model = load(profile)) {
            ModelWeights weights = model.weights();
            assertThat(weights.head().format()).isEqualTo(dense);
            for (LayerWeights layer : weights.layers()) {
                MlaWeights attention = layer.attention();
                assertThat(List.of(attention.qA(), attention.qB(), attention.kvA(), attention.output()))
                        .allMatch(matrix -> matrix.format() == dense);
                assertThat(attention.valueUp()).allMatch(matrix -> matrix.format() == dense);
                assertThat(attention.keyAbsorb()).allMatch(matrix -> matrix.format() == dense);
                IndexerWeights indexer = layer.indexer();
                if (indexer != null) {
                    assertThat(indexer.queryB().format()).isEqualTo(dense);
                    assertThat(indexer.key().format()).isEqualTo(dense);
                    assertThat(indexer.headWeights().format()).isEqualTo(QuantFormat.F32);
                }
                switch (layer.feedForward()) {
                    case FeedForward.Dense mlp -> assertFormat(mlp.weights(), dense);
                    case FeedForward.Experts moe -> {
                        assertThat(moe.weights().gate().format()).isEqualTo(QuantFormat.F32);
                        assertFormat(moe.weights().shared(), dense);
                        moe.weights().experts().forEach(weightsOfOne -> assertFormat(weightsOfOne, expert));
                    }
                }
            }
        }
    }

    private static void assertFormat(GatedMlpWeights mlp, QuantFormat format) {
        assertThat(List.of(mlp.gate(), mlp.up(), mlp.down())).allMatch(matrix -> matrix.format() == format);
        if (format == QuantFormat.W4A8) {
            assertThat(mlp.gate().group()).isEqualTo(WeightProfile.INT4_GROUP);
        }
    }

    @Test
    void scalesOfAbsorbedKeysLieAlongTheirInputs() {
        try (LoadedModel model = load(WeightProfile.W8A8)) {
            MlaWeights attention = model.weights().layers().getFirst().attention();
            assertThat(attention.keyAbsorb()).allMatch(matrix -> matrix.scaleAxis() == ScaleAxis.INPUT);
            assertThat(attention.valueUp()).allMatch(matrix -> matrix.scaleAxis() == ScaleAxis.OUTPUT);
        }
    }

    @Test
    void roundedWeightsComputeNearlyTheSame() {
        double eight = relativeError(WeightProfile.W8A8);
        double four = relativeError(WeightProfile.W4A8);
        assertThat(relativeError(WeightProfile.BF16)).isLessThan(0.02);
        assertThat(eight).isBetween(1e-4, 0.1);
        assertThat(four).isGreaterThan(eight).isLessThan(0.5);
    }

    /// Root mean square of the difference of the logits over that of the logits.
    private static double relativeError(WeightProfile profile) {
        try (LoadedModel exact = load(TestModels.MINI, WeightProfile.CHECKPOINT);
                LoadedModel rounded = load(TestModels.MINI, profile)) {
            List<float[]> expected = PackRun.logits(exact);
            List<float[]> actual = PackRun.logits(rounded);
            double difference = 0;
            double size = 0;
            for (int row = 0; row < expected.size(); row++) {
                for (int i = 0; i < expected.get(row).length; i++) {
                    difference += Math.pow(actual.get(row)[i] - expected.get(row)[i], 2);
                    size += Math.pow(expected.get(row)[i], 2);
                }
            }
            return Math.sqrt(difference / size);
        }
    }
}
