package io.millrace.engine.quantize;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/// What the report says of the text it measured on.
class QuantizeReportTest {
    private static QuantizeReport report(boolean bundled, double perplexity) {
        TextLoss loss = new TextLoss(Math.log(perplexity) * 500, 500);
        return new QuantizeReport("w8a8", "none", true, 200, 100, List.of(), 2000, bundled, loss, loss);
    }

    @Test
    void aTextThatTheModelDoesNotKnowIsOneWarningWithItsPerplexity() {
        assertThat(report(true, 489.27).lines())
                .containsOnlyOnce("warning: perplexity 489.3 before quantising: the model does not know the built-in"
                        + " text, so what the perplexity changes by says little about it (expected: at most 100;"
                        + " measure on text of its own with --calibration)")
                .noneMatch(line -> line.startsWith("note: "));
        assertThat(report(false, 1e5).lines())
                .containsOnlyOnce("warning: perplexity 100000.0 before quantising: the model does not know this text,"
                        + " so what the perplexity changes by says little about it (expected: at most 100; measure on"
                        + " text of its own with --calibration)");
    }

    @Test
    void aTextThatTheModelKnowsIsNoReasonToWarn() {
        assertThat(report(true, 99.9).lines())
                .noneMatch(line -> line.startsWith("warning: "))
                .anyMatch(line -> line.startsWith("note: the perplexity is of the built-in text alone; "));
        assertThat(report(false, 3).lines())
                .noneMatch(line -> line.startsWith("warning: ") || line.startsWith("note: "));
    }
}
