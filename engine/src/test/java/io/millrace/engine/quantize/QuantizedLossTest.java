package io.millrace.engine.quantize;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.model.TestModels;
import io.millrace.engine.profile.WeightProfile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// The trained model in integers, on its held-out text: int8 within 0.003 nats a token of the float
/// model, int4 experts within 0.01, in each set.
class QuantizedLossTest {
    @TempDir
    private Path folder = Path.of("");

    @ParameterizedTest
    @CsvSource({"W8A8, chat, 0.003", "W4A8, chat, 0.01"})
    void aSampleIsWithinTolerance(WeightProfile profile, String set, double tolerance) throws IOException {
        assertLoss(profile, set, tolerance, 6);
    }

    @ParameterizedTest
    @CsvSource({"W8A8, chat, 0.003", "W8A8, long, 0.003", "W4A8, chat, 0.01", "W4A8, long, 0.01"})
    @Tag("soak")
    void eachSetIsWithinTolerance(WeightProfile profile, String set, double tolerance) throws IOException {
        assertLoss(profile, set, tolerance, 1);
    }

    private void assertLoss(WeightProfile profile, String set, double tolerance, int every) throws IOException {
        Path mini = TestModels.directory(TestModels.MINI);
        List<TokenSequence> heldOut = HeldOutText.read(set, every);
        CalibrationText text = CalibrationText.read(mini, 4096, null);
        QuantizeReport report = new ModelQuantizer(
                        mini, folder.resolve("made"), QuantizeSettings.of(profile), QuantizeProgress.SILENT)
                .run(text.calibration(), heldOut);
        TextLoss before = Objects.requireNonNull(report.before());
        TextLoss after = Objects.requireNonNull(report.after());
        System.out.println("QuantizedLossTest: " + profile + " " + set + " " + before.perToken() + " -> "
                + after.perToken() + ", " + report.sizeBefore() + " -> " + report.sizeAfter() + " bytes");
        assertThat(after.perToken()).isLessThanOrEqualTo(before.perToken() + tolerance);
        assertThat(after.tokens()).isEqualTo(before.tokens());
    }
}
