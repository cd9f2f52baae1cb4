package io.millrace.standalone.bench;

import java.util.List;
import java.util.Locale;

/// Draws rows as horizontal bars, each phase on a scale of its own, each row's limit as the
/// frame its bar would fill.
public final class BenchPlot {
    private static final int WIDTH = 900;
    private static final int LABELS = 330;
    private static final int NUMBERS = 110;
    private static final int ROW = 24;
    private static final int BAR = 16;
    private static final int HEAD = 40;
    private static final int TITLE = 28;
    // A frame stands out of its bar on all sides, so that it is seen where the bar is the longer one.
    private static final int FRAME = 2;

    private BenchPlot() {}

    /// An SVG document.
    public static String svg(BenchReport report) {
        List<BenchRow> rows = report.rows();
        StringBuilder body = new StringBuilder();
        String title = escape(title(report));
        body.append("<title>").append(title).append("</title>\n");
        text(body, 10, TITLE - 8, "start", title);
        int y = TITLE;
        for (BenchPhase phase : BenchPhase.values()) {
            List<BenchRow> shown =
                    rows.stream().filter(row -> row.work().phase() == phase).toList();
            if (!shown.isEmpty()) {
                y = draw(body, phase.id(), shown, y);
            }
        }
        return String.format(
                Locale.ROOT,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\""
                        + " font-size=\"12\">%n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>%n%s</svg>%n",
                WIDTH,
                y + ROW,
                body);
    }

    private static String title(BenchReport report) {
        BenchSetup setup = report.setup();
        String isa = report.limits().map(machine -> machine.isa().id() + ", ").orElse("");
        return setup.model() + ": " + isa + setup.threadsText() + ", " + setup.kv() + " keys, Millrace "
                + setup.version();
    }

    private static int draw(StringBuilder body, String phase, List<BenchRow> rows, int top) {
        double largest = 0;
        for (BenchRow row : rows) {
            largest = Math.max(
                    largest,
                    Math.max(row.speed().max(), row.limitTokensPerSecond().orElse(0)));
        }
        double scale = (WIDTH - LABELS - NUMBERS) / largest;
        text(
                body,
                10,
                top + HEAD - 14,
                "start",
                "<tspan font-weight=\"bold\">" + phase + ", tokens per second</tspan> (frame: limit of the machine)");
        int y = top + HEAD;
        for (BenchRow row : rows) {
            text(body, LABELS - 8, y + BAR - 4, "end", escape(label(row)));
            rect(body, y, row.speed().median() * scale, BAR, "fill=\"#3b6ea5\"");
            if (row.limitTokensPerSecond().isPresent()) {
                double limit = row.limitTokensPerSecond().getAsDouble();
                rect(body, y - FRAME, limit * scale, BAR + 2 * FRAME, "fill=\"none\" stroke=\"#222222\"");
            }
            double end =
                    Math.max(row.speed().median(), row.limitTokensPerSecond().orElse(0)) * scale;
            text(body, LABELS + (int) end + 6, y + BAR - 4, "start", number(row));
            y += ROW;
        }
        return y;
    }

    private static String number(BenchRow row) {
        String speed = String.format(Locale.ROOT, "%.1f", row.speed().median());
        return row.shareOfLimit().isEmpty()
                ? speed
                : speed
                        + String.format(
                                Locale.ROOT,
                                " (%.0f %%)",
                                100 * row.shareOfLimit().getAsDouble());
    }

    private static String label(BenchRow row) {
        String phase = row.work().phase().id() + " ";
        return row.work().label().substring(phase.length()) + ", " + row.profile() + ", " + row.provider()
                + (row.dsa().equals(BenchRow.DENSE) ? ", dense" : "");
    }

    private static void rect(StringBuilder body, int y, double width, int height, String style) {
        body.append(String.format(
                Locale.ROOT,
                "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" %s/>%n",
                LABELS,
                y,
                width,
                height,
                style));
    }

    private static void text(StringBuilder body, int x, int y, String anchor, String content) {
        body.append(String.format(
                Locale.ROOT, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>%n", x, y, anchor, content));
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }
}
