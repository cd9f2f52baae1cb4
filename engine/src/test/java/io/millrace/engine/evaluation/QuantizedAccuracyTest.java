package io.millrace.engine.evaluation;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.model.TestModels;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.quantize.CalibrationText;
import io.millrace.engine.quantize.ModelQuantizer;
import io.millrace.engine.quantize.QuantizeProgress;
import io.millrace.engine.quantize.QuantizeSettings;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;

/// The trained model in integers, on its tasks: item by item against the float model's reference run,
/// at most one point is lost.
class QuantizedAccuracyTest {
    private static final int SAMPLE = 120;
    private static final double MOST_LOST = 0.01;
    /// Items of a sample that chance turns, beside the lost point.
    private static final int CHANCE = 2;

    @TempDir
    private Path folder = Path.of("");

    @ParameterizedTest
    @EnumSource(
            value = WeightProfile.class,
            names = {"W8A8", "W4A8"})
    void aSampleLosesAtMostAPoint(WeightProfile profile) throws Exception {
        List<JsonNode> items = TaskAccuracyTest.items();
        Collections.shuffle(items, new Random(20261130));
        assertNetLoss(profile, items.subList(0, SAMPLE), CHANCE);
    }

    @ParameterizedTest
    @EnumSource(
            value = WeightProfile.class,
            names = {"W8A8", "W4A8"})
    @Tag("soak")
    void allItemsLoseAtMostAPoint(WeightProfile profile) throws Exception {
        assertNetLoss(profile, TaskAccuracyTest.items(), 0);
    }

    private void assertNetLoss(WeightProfile profile, List<JsonNode> items, int chance) throws Exception {
        Path mini = TestModels.directory(TestModels.MINI);
        Path made = folder.resolve("made");
        CalibrationText text = CalibrationText.read(mini, 4096, null);
        new ModelQuantizer(mini, made, QuantizeSettings.of(profile), QuantizeProgress.SILENT)
                .run(text.calibration(), List.of());
        Map<String, TaskAccuracyTest.Count> counts = TaskAccuracyTest.answer(items, made);
        int lost = counts.values().stream()
                .mapToInt(count -> count.reference() - count.right())
                .sum();
        System.out.println("QuantizedAccuracyTest: " + profile + " " + counts + ", net loss " + lost);
        assertThat(lost).isLessThanOrEqualTo((int) (items.size() * MOST_LOST) + chance);
    }
}
