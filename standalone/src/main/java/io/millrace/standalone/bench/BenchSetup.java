package io.millrace.standalone.bench;

import java.lang.management.ManagementFactory;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;

/// What the figures of a report were measured under.
///
/// @param model        name of the model's folder, or of the configuration that random weights have
/// @param kv           number format of cached keys
/// @param chunk        most rows of a prefill step
/// @param threads      that compute
/// @param version      of Millrace
/// @param date         when the report was made
/// @param options      the command line
/// @param others       environment variables that name other programs and their model; empty if none is run
/// @param loadAverage  of the system when the report was made; empty where it does not tell
public record BenchSetup(
        String model,
        String kv,
        int chunk,
        int threads,
        String version,
        Instant date,
        List<String> options,
        Map<String, String> others,
        OptionalDouble loadAverage) {
    public BenchSetup {
        options = List.copyOf(options);
        others = Collections.unmodifiableMap(new TreeMap<>(others));
    }

    /// The system's load average; empty where it does not tell.
    public static OptionalDouble systemLoadAverage() {
        double load = ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
        return load < 0 ? OptionalDouble.empty() : OptionalDouble.of(load);
    }

    /// E.g. `2 threads`.
    String threadsText() {
        return threads == 1 ? "1 thread" : threads + " threads";
    }
}
