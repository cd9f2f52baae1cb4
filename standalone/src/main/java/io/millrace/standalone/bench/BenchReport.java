package io.millrace.standalone.bench;

import io.millrace.kernels.nativecode.MachineLimits;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/// What was measured.
///
/// @param limits  of the machine, by the same run; empty where there is no C code to measure with
/// @param rows    the figures
public record BenchReport(Optional<MachineLimits> limits, List<BenchRow> rows) {
    private static final double GIGA = 1e9;
    private static final int PERCENT = 100;
    private static final String LINE = "%-8s %7s %8s  %-6s %-14s %-6s %10s  %-21s %10s %6s";

    public BenchReport {
        rows = List.copyOf(rows);
    }

    /// The same with further rows.
    public BenchReport with(List<BenchRow> more) {
        List<BenchRow> all = new ArrayList<>(rows);
        all.addAll(more);
        return new BenchReport(limits, all);
    }

    /// A table for people.
    public List<String> lines() {
        List<String> lines = new ArrayList<>();
        limits.ifPresent(machine -> lines.add(String.format(
                Locale.ROOT,
                "machine: %d threads, %s; reads %.1f GB/s, int8 %.0f GOPS, float32 %.0f GFLOPS",
                machine.threads(),
                machine.isa().id(),
                machine.readBytesPerSecond() / GIGA,
                machine.int8OpsPerSecond() / GIGA,
                machine.floatOpsPerSecond() / GIGA)));
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
        lines.add("");
        lines.add("microseconds a token inside each operator:");
        for (BenchRow row : rows) {
            if (!row.microsPerToken().isEmpty()) {
                lines.add(operators(row));
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
                row.phase(),
                row.tokens(),
                row.depth(),
                row.profile(),
                row.provider(),
                row.dsa(),
                String.format(Locale.ROOT, "%.1f", speed.median()),
                String.format(Locale.ROOT, "(%.1f .. %.1f, %d)", speed.min(), speed.max(), speed.repeats()),
                limit.isPresent() ? String.format(Locale.ROOT, "%.1f", limit.getAsDouble()) : "",
                limit.isPresent()
                        ? String.format(Locale.ROOT, "%.0f %%", PERCENT * speed.median() / limit.getAsDouble())
                        : "");
    }

    private static String operators(BenchRow row) {
        StringBuilder line = new StringBuilder(String.format(
                Locale.ROOT,
                "  %s %d at %d, %s, %s:",
                row.phase(),
                row.tokens(),
                row.depth(),
                row.profile(),
                row.dsa()));
        for (Map.Entry<String, Double> operator : row.microsPerToken().entrySet()) {
            line.append(String.format(Locale.ROOT, " %s %.0f,", operator.getKey(), operator.getValue()));
        }
        return line.substring(0, line.length() - 1);
    }

    /// The rows as a JSON array, the machine's limits first.
    public String json() {
        JsonMapper mapper = JsonMapper.shared();
        ArrayNode array = mapper.createArrayNode();
        limits.ifPresent(machine -> array.addObject()
                .put("phase", "machine")
                .put("isa", machine.isa().id())
                .put("threads", machine.threads())
                .put("readBytesPerSecond", machine.readBytesPerSecond())
                .put("int8OpsPerSecond", machine.int8OpsPerSecond())
                .put("floatOpsPerSecond", machine.floatOpsPerSecond()));
        for (BenchRow row : rows) {
            ObjectNode object = array.addObject()
                    .put("phase", row.phase())
                    .put("tokens", row.tokens())
                    .put("depth", row.depth())
                    .put("profile", row.profile())
                    .put("provider", row.provider())
                    .put("dsa", row.dsa())
                    .put("tokensPerSecond", row.speed().median());
            if (row.limitTokensPerSecond().isPresent()) {
                object.put("limitTokensPerSecond", row.limitTokensPerSecond().getAsDouble());
            } else {
                object.putNull("limitTokensPerSecond");
            }
            object.put("repeats", row.speed().repeats())
                    .put("min", row.speed().min())
                    .put("max", row.speed().max());
            if (!row.microsPerToken().isEmpty()) {
                ObjectNode operators = object.putObject("microsPerToken");
                row.microsPerToken().forEach(operators::put);
            }
        }
        return mapper.writerWithDefaultPrettyPrinter().writeValueAsString(array) + "\n";
    }
}
