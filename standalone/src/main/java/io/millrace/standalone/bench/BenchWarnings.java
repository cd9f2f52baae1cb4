package io.millrace.standalone.bench;

import io.millrace.kernels.nativecode.MachineLimits;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/// What a reader of the table has to know before believing it.
final class BenchWarnings {
    private static final double CACHED_BYTES = 200e6;
    private static final double DISTURBED = 1.3;
    private static final double GIGA = 1e9;

    private BenchWarnings() {}

    static List<String> of(List<BenchRow> rows, BenchSetup setup) {
        List<String> lines = new ArrayList<>();
        if (rows.stream().anyMatch(BenchWarnings::staysInCaches)) {
            lines.add(
                    "weights fit into the processor's caches where decode and verify rows read less than 200 MB a step,"
                            + " so these rows say nothing about bandwidth");
        }
        Spread widest = new Spread("", 0, 0);
        for (Spread spread : List.of(
                spread(rows, "reads GB/s", MachineLimits::readBytesPerSecond),
                spread(rows, "int8 GOPS", MachineLimits::int8OpsPerSecond),
                spread(rows, "float32 GFLOPS", MachineLimits::floatOpsPerSecond))) {
            widest = spread.ratio() > widest.ratio() ? spread : widest;
        }
        if (widest.ratio() > DISTURBED) {
            lines.add(disturbed(widest, setup));
        }
        return lines;
    }

    private record Spread(String name, double least, double most) {
        double ratio() {
            return least > 0 ? most / least : 0;
        }
    }

    // Rows of other programs and limits that could not be measured have none.
    private static boolean staysInCaches(BenchRow row) {
        return row.machine().isPresent()
                && row.bytesPerToken().isPresent()
                && row.bytesPerToken().getAsDouble() * row.work().rowsPerStep() < CACHED_BYTES;
    }

    private static Spread spread(List<BenchRow> rows, String name, ToDoubleFunction<MachineLimits> limit) {
        double least = 0;
        double most = 0;
        for (BenchRow row : rows) {
            if (row.machine().isPresent()) {
                double value = limit.applyAsDouble(row.machine().get());
                least = least == 0 ? value : Math.min(least, value);
                most = Math.max(most, value);
            }
        }
        return new Spread(name, least, most);
    }

    private static String disturbed(Spread spread, BenchSetup setup) {
        String load = setup.loadAverage().isPresent()
                ? String.format(
                        Locale.ROOT,
                        "; load average %.1f, own %s included",
                        setup.loadAverage().getAsDouble(),
                        setup.threadsText())
                : "";
        return String.format(
                Locale.ROOT,
                "the machine was disturbed: limits beside the rows differ %.1f times (%s %.1f .. %.1f)%s",
                spread.ratio(),
                spread.name(),
                spread.least() / GIGA,
                spread.most() / GIGA,
                load);
    }
}
