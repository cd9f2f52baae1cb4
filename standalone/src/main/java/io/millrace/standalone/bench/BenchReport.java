package io.millrace.standalone.bench;

import io.millrace.kernels.nativecode.MachineLimits;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;

/// What was measured.
///
/// @param limits  of the machine, the best of the run; empty where there is no C code to measure with
/// @param rows    the figures
/// @param setup   what they were measured under
public record BenchReport(Optional<MachineLimits> limits, List<BenchRow> rows, BenchSetup setup) {
    private static final int PERCENT = 100;
    private static final String LINE = "%-9s %6s %8s  %-10s %-14s %-6s %10s  %-21s %10s %6s";

    public BenchReport {
        rows = List.copyOf(rows);
    }

    /// A table for people.
    public List<String> lines() {
        List<String> lines = new ArrayList<>();
        limits.ifPresent(machine -> lines.add(String.format(
                Locale.ROOT,
                "machine: %s, %s; at best reads %s",
                setup.threadsText(),
                machine.isa().id(),
                BenchFigures.limits(machine))));
        lines.add(String.format(
                        Locale.ROOT,
                        LINE,
                        "phase",
                        "tokens",
                        "depth",
                        "format",
                        "provider",
                        "dsa",
                        "tokens/s",
                        "(min .. max, repeats)",
                        "limit",
                        "of it")
                .stripTrailing());
        for (BenchRow row : rows) {
            lines.add(line(row).stripTrailing());
        }
        for (List<String> figures : List.of(
                BenchWarnings.of(rows, setup),
                BenchFigures.ofRows(rows),
                BenchFigures.denseOverAuto(rows),
                BenchFigures.operators(rows))) {
            if (!figures.isEmpty()) {
                lines.add("");
                lines.addAll(figures);
            }
        }
        return lines;
    }

    private static String line(BenchRow row) {
        BenchRow.Speed speed = row.speed();
        OptionalDouble limit = row.limitTokensPerSecond();
        return String.format(
                Locale.ROOT,
                LINE,
                phase(row.work()),
                row.work().tokens(),
                row.work().depth(),
                row.profile(),
                row.provider(),
                row.dsa(),
                String.format(Locale.ROOT, "%.1f", speed.median()),
                String.format(Locale.ROOT, "(%.1f .. %.1f, %d)", speed.min(), speed.max(), speed.repeats()),
                limit.isPresent() ? String.format(Locale.ROOT, "%.1f", limit.getAsDouble()) : "",
                limit.isPresent()
                        ? String.format(
                                Locale.ROOT,
                                "%.0f %%",
                                PERCENT * row.shareOfLimit().getAsDouble())
                        : "");
    }

    private static String phase(BenchWork work) {
        return work.phase() == BenchPhase.VERIFY
                ? work.phase().id() + " " + work.rowsPerStep()
                : work.phase().id();
    }

    /// The rows as a JSON array, the machine's limits first.
    public String json() {
        return BenchJson.of(this);
    }
}
