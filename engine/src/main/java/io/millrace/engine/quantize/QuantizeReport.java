package io.millrace.engine.quantize;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/// What quantising came to.
///
/// @param profile     weight profile, e.g. `w8a8`
/// @param rotation    the rotation's id, `none` without
/// @param search      whether scales were searched for
/// @param sizeBefore  tensor bytes of the source
/// @param sizeAfter   tensor bytes of the result
/// @param layers      error of each layer, embedding and head last
/// @param before      loss of the source on the evaluation text, null without text
/// @param after       loss of the result on it
public record QuantizeReport(
        String profile,
        String rotation,
        boolean search,
        long sizeBefore,
        long sizeAfter,
        List<LayerError> layers,
        @Nullable TextLoss before,
        @Nullable TextLoss after) {
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
        }
        return lines;
    }
}
