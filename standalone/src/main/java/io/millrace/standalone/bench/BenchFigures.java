package io.millrace.standalone.bench;

import io.millrace.kernels.nativecode.MachineLimits;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/// What a report says below its table: for each row what it is made of, and sparse beside dense attention.
final class BenchFigures {
    private static final double GIGA = 1e9;
    private static final double MEGA = 1e6;
    private static final double MILLI = 1e3; // microseconds
    private static final int PERCENT = 100;

    private BenchFigures() {}

    /// The limits that rows are compared with, and what they reach.
    static List<String> ofRows(List<BenchRow> rows) {
        List<String> lines = new ArrayList<>();
        for (BenchRow row : rows) {
            List<String> parts = new ArrayList<>();
            row.machine().ifPresent(machine -> parts.add("limits " + limits(machine)));
            if (row.bytesPerToken().isPresent()) {
                parts.add(bytes(row));
            }
            row.int8Share()
                    .ifPresent(share -> parts.add(text(
                            "int8 products at least %.0f %% of the peak, %.0f %% of that of the median round",
                            PERCENT * share,
                            PERCENT * row.int8ShareOfMedianRound().orElseThrow())));
            row.attentionMicros().ifPresent(micros -> parts.add(text("attention part %.0f us", micros)));
            row.attentionShare()
                    .ifPresent(share -> parts.add(text(
                            "attention %.0f %% of its own limit, %.0f %% of that of the median round",
                            PERCENT * share,
                            PERCENT * row.attentionShareOfMedianRound().orElseThrow())));
            if (!parts.isEmpty()) {
                lines.add("  " + label(row) + ": " + String.join("; ", parts));
            }
        }
        if (!lines.isEmpty()) {
            lines.addFirst(
                    "limits right before and after each measurement (the best), and what it reaches; times are for a"
                            + " token:");
        }
        if (rows.stream().anyMatch(row -> row.int8Share().isPresent())) {
            lines.add("  (int8 products: those with weights in " + String.join(", ", BenchRow.WEIGHT_OPERATORS)
                    + " over all the time inside these, roundings and row work included)");
        }
        if (rows.stream().anyMatch(row -> row.attentionMicros().isPresent())) {
            lines.add("  (attention part: " + String.join(" + ", BenchRow.ATTENTION_OPERATORS) + ")");
        }
        return lines;
    }

    static String limits(MachineLimits machine) {
        return text(
                "%.1f GB/s, int8 %.0f GOPS, float32 %.0f GFLOPS",
                machine.readBytesPerSecond() / GIGA,
                machine.int8OpsPerSecond() / GIGA,
                machine.floatOpsPerSecond() / GIGA);
    }

    private static String bytes(BenchRow row) {
        double perToken = row.bytesPerToken().orElseThrow() / MEGA;
        String read = row.work().phase() == BenchPhase.VERIFY
                ? text(
                        "reads %.1f MB a step, %.1f a token",
                        perToken * row.work().rowsPerStep(), perToken)
                : text("reads %.1f MB a token", perToken);
        double reached = row.bytesPerSecond().orElseThrow();
        String mean = row.machine()
                .map(MachineLimits::meanReadBytesPerSecond)
                .map(given ->
                        text(", %.0f %% of the %.1f GB/s on the average then", PERCENT * reached / given, given / GIGA))
                .orElse("");
        return read + text(", at %.1f GB/s", reached / GIGA) + mean + medianStep(row);
    }

    private static String medianStep(BenchRow row) {
        if (row.machine().isEmpty() || row.medianStepBytesPerSecond().isEmpty()) {
            return "";
        }
        double round = row.machine().get().medianReadBytesPerSecond();
        double reached = row.medianStepBytesPerSecond().getAsDouble();
        return text(
                "; the median step took %.2f ms, at %.1f GB/s, %.0f %% of the %.1f GB/s of the median round",
                row.medianStepMicros().orElseThrow() / MILLI, reached / GIGA, PERCENT * reached / round, round / GIGA);
    }

    /// How much longer dense attention takes than sparse, where both were measured.
    static List<String> denseOverAuto(List<BenchRow> rows) {
        List<String> lines = new ArrayList<>();
        for (BenchRow dense : rows) {
            if (dense.dsa().equals(BenchRow.DENSE)) {
                sparse(rows, dense).ifPresent(auto -> lines.add(ratio(dense, auto)));
            }
        }
        if (!lines.isEmpty()) {
            lines.addFirst("time with dense attention over time with sparse attention:");
        }
        return lines;
    }

    private static Optional<BenchRow> sparse(List<BenchRow> rows, BenchRow dense) {
        return rows.stream()
                .filter(row -> row.dsa().equals(BenchRow.AUTO)
                        && row.work().equals(dense.work())
                        && row.profile().equals(dense.profile())
                        && row.provider().equals(dense.provider()))
                .findFirst();
    }

    private static String ratio(BenchRow dense, BenchRow auto) {
        return text(
                "  %s, %s: attention part %.2f, whole %.2f",
                dense.work().label(),
                dense.profile(),
                dense.attentionMicros().orElse(0) / auto.attentionMicros().orElse(0),
                dense.wholeMicros() / auto.wholeMicros());
    }

    /// Time inside each operator.
    static List<String> operators(List<BenchRow> rows) {
        List<String> lines = new ArrayList<>();
        for (BenchRow row : rows) {
            List<String> parts = new ArrayList<>();
            row.microsPerToken().forEach((operator, micros) -> parts.add(text("%s %.0f", operator, micros)));
            if (!parts.isEmpty()) {
                lines.add("  " + label(row) + ": " + String.join(", ", parts));
            }
        }
        if (!lines.isEmpty()) {
            lines.addFirst("microseconds a token inside each operator:");
        }
        return lines;
    }

    private static String label(BenchRow row) {
        return row.work().label() + ", " + row.profile() + ", " + row.dsa();
    }

    @SuppressWarnings("AnnotateFormatMethod") // private, and all its formats are literals
    private static String text(String format, Object... values) {
        return String.format(Locale.ROOT, format, values);
    }
}
