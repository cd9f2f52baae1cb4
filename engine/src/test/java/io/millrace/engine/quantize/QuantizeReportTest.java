package io.millrace.engine.quantize;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/// What the report says of the text it measured on.
class QuantizeReportTest {
    private static QuantizeReport report(CalibrationOrigin origin, double perplexity) {
        TextLoss loss = new TextLoss(Math.log(perplexity) * 500, 500);
        return new QuantizeReport("w8a8", "none", true, 200, 100, List.of(), 2000, origin, loss, loss);
    }

    @Test
    void aTextThatTheModelDoesNotKnowIsOneWarningWithItsPerplexity() {
        assertThat(report(CalibrationOrigin.BUILT_IN, 489.27).lines())
                .containsOnlyOnce("warning: perplexity 489.3 before quantising: the model does not know the built-in"
                        + " text, so what the perplexity changes by says little about it (expected: at most 100;"
                        + " measure on text of its own with --calibration)")
                .noneMatch(line -> line.startsWith("note: "));
        assertThat(report(CalibrationOrigin.GIVEN, 1e5).lines())
                .containsOnlyOnce("warning: perplexity 100000.0 before quantising: the model does not know this text,"
                        + " so what the perplexity changes by says little about it (expected: at most 100; measure on"
                        + " text of its own with --calibration)");
    }

    @Test
    void aPerplexityOfAFewTokensIsWarnedOf() {
        TextLoss loss = new TextLoss(2, 99);
        assertThat(new QuantizeReport(
                                "w8a8", "none", true, 200, 100, List.of(), 2000, CalibrationOrigin.GIVEN, loss, loss)
                        .lines())
                .containsOnlyOnce("warning: 99 tokens are too few to tell a perplexity of (expected: 100 tokens or"
                        + " more; a quarter of the text is measured on)");
    }

    @Test
    void itIsToldWhoseTheTextIs() {
        assertThat(report(CalibrationOrigin.BUILT_IN, 3).lines())
                .contains("calibration: 2,000 tokens of the built-in text");
        assertThat(report(CalibrationOrigin.MODEL, 3).lines())
                .contains("calibration: 2,000 tokens of calibration.jsonl of the model's folder");
        assertThat(report(CalibrationOrigin.GIVEN, 3).lines()).contains("calibration: 2,000 tokens of the text given");
    }

    @Test
    void aTextThatTheModelKnowsIsNoReasonToWarn() {
        assertThat(report(CalibrationOrigin.BUILT_IN, 99.9).lines())
                .noneMatch(line -> line.startsWith("warning: "))
                .anyMatch(line -> line.startsWith("note: the perplexity is of the built-in text alone; "));
        for (CalibrationOrigin origin : List.of(CalibrationOrigin.MODEL, CalibrationOrigin.GIVEN)) {
            assertThat(report(origin, 3).lines())
                    .noneMatch(line -> line.startsWith("warning: ") || line.startsWith("note: "));
        }
    }
}
