package io.millrace.engine.quantize;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/// What quantising came to.
///
/// @param profile            weight profile, e.g. `w8a8`
/// @param rotation           the rotation's id, `none` without
/// @param search             whether scales were searched for
/// @param sizeBefore         tensor bytes of the source
/// @param sizeAfter          tensor bytes of the result
/// @param layers             error of each layer, embedding and head last
/// @param calibrationTokens  tokens of the text that inputs were learnt from, 0 without
/// @param origin             whose text the inputs were learnt from and the losses are of
/// @param before             loss of the source on the evaluation text, null without text
/// @param after              loss of the result on it
public record QuantizeReport(
        String profile,
        String rotation,
        boolean search,
        long sizeBefore,
        long sizeAfter,
        List<LayerError> layers,
        long calibrationTokens,
        CalibrationOrigin origin,
        @Nullable TextLoss before,
        @Nullable TextLoss after) {
    private static final long FEW_TOKENS = 1000;
    private static final long FEW_MEASURED_TOKENS = 100;

    public QuantizeReport {
        layers = List.copyOf(layers);
    }

    /// Error of a layer's rounded matrices.
    ///
    /// @param layer     e.g. `layer 3`
    /// @param matrices  that were rounded to integers
    /// @param relative  root of the mean, over these matrices, of expected squared output error over
    ///                  expected squared output, weights alone; so what scales a matrix changes nothing
    public record LayerError(String layer, int matrices, double relative) {}

    /// The same with what was found out about texts.
    QuantizeReport with(CalibrationText text, @Nullable TextLoss lossBefore, @Nullable TextLoss lossAfter) {
        long tokens =
                text.calibration().stream().mapToLong(TokenSequence::length).sum();
        return new QuantizeReport(
                profile, rotation, search, sizeBefore, sizeAfter, layers, tokens, text.origin(), lossBefore, lossAfter);
    }

    /// The report as lines of text.
    public List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add("profile: " + profile);
        lines.add("rotation: " + rotation);
        lines.add("scale search: " + (search ? "yes" : "no"));
        lines.add(String.format(
                Locale.ROOT,
                "size: %,d bytes before, %,d after (%.3f)",
                sizeBefore,
                sizeAfter,
                (double) sizeAfter / sizeBefore));
        lines.add(
                calibrationTokens == 0
                        ? "calibration: none"
                        : "calibration: " + count(calibrationTokens) + " of " + origin.words());
        if (calibrationTokens < FEW_TOKENS) {
            lines.add("warning: " + count(calibrationTokens)
                    + " of calibration are too few to rank options by (expected: " + count(FEW_TOKENS) + " or more)");
        }
        lines.add("errors: what rounding its matrices changes of their output, relative to the output, "
                + (calibrationTokens == 0
                        ? "for inputs taken to be all alike"
                        : "for inputs as in the calibration text"));
        for (LayerError layer : layers) {
            lines.add(String.format(
                    Locale.ROOT,
                    "error of %s: %.3f %% over %d matrices",
                    layer.layer,
                    100 * layer.relative,
                    layer.matrices));
        }
        if (before != null && after != null) {
            lines.add(String.format(
                    Locale.ROOT,
                    "perplexity: %.4f before, %.4f after (%+.4f nats per token over %d tokens)",
                    before.perplexity(),
                    after.perplexity(),
                    after.perToken() - before.perToken(),
                    after.tokens()));
            if (after.tokens() < FEW_MEASURED_TOKENS) {
                lines.add("warning: " + count(after.tokens()) + " are too few to tell a perplexity of (expected: "
                        + count(FEW_MEASURED_TOKENS) + " or more; a quarter of the text is measured on)");
            } else if (!before.isOfKnownText()) {
                lines.add(String.format(
                        Locale.ROOT,
                        "warning: perplexity %.1f before quantising: the model does not know %s, so what the perplexity"
                                + " changes by says little about it (expected: at most %d; measure on text of its own"
                                + " with --calibration)",
                        before.perplexity(),
                        origin == CalibrationOrigin.BUILT_IN ? origin.words() : "this text",
                        TextLoss.KNOWN_PERPLEXITY));
            } else if (origin == CalibrationOrigin.BUILT_IN) {
                lines.add("note: the perplexity is of the built-in text alone; for a model that knows other things"
                        + " measure on text of its own (--calibration)");
            }
        }
        return lines;
    }

    private static String count(long tokens) {
        return String.format(Locale.ROOT, "%,d tokens", tokens);
    }
}
