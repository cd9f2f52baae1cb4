package io.millrace.engine.quantize;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.model.TestModels;
import io.millrace.engine.profile.WeightProfile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Where activations have outlier channels, rotation and scale search each lower the held-out loss.
class OutlierTest {
    private static final int EVERY = 8;
    private static final double MARGIN = 0.002;

    @TempDir
    private Path folder = Path.of("");

    @Test
    void rotationAndScaleSearchEachLowerTheLoss() throws IOException {
        Path mini = TestModels.directory(TestModels.MINI);
        Path planted = folder.resolve("planted");
        PlantedOutliers.write(mini, planted);
        CalibrationText text = CalibrationText.read(planted, 4096, null);
        QuantizeSettings both = QuantizeSettings.of(WeightProfile.W4A8);
        QuantizeReport with = quantize(planted, "both", both, text);
        QuantizeReport unrotated = quantize(planted, "unrotated", both.withoutRotation(), text);
        QuantizeReport unsearched = quantize(planted, "unsearched", both.withoutSearch(), text);
        System.out.println("OutlierTest: float " + loss(with.before()) + ", both " + loss(with.after())
                + ", no rotation " + loss(unrotated.after()) + ", no search " + loss(unsearched.after()));
        assertThat(loss(with.before())).isCloseTo(floatLoss(), within(1e-5));
        assertThat(loss(with.after())).isLessThan(loss(unrotated.after()) - MARGIN);
        assertThat(loss(with.after())).isLessThan(loss(unsearched.after()) - MARGIN);
    }

    private QuantizeReport quantize(Path source, String name, QuantizeSettings settings, CalibrationText text)
            throws IOException {
        List<TokenSequence> heldOut = HeldOutText.read("chat", EVERY);
        return new ModelQuantizer(source, folder.resolve(name), settings, QuantizeProgress.SILENT)
                .run(text.calibration(), heldOut);
    }

    private static double floatLoss() throws IOException {
        try (LoadedModel loaded = TestModels.load(TestModels.MINI, TestModels.Options.of("vector"))) {
            return TextLoss.of(loaded, HeldOutText.read("chat", EVERY), done -> {})
                    .perToken();
        }
    }

    private static double loss(@Nullable TextLoss loss) {
        return Objects.requireNonNull(loss).perToken();
    }
}
