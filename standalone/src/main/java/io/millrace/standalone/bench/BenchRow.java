package io.millrace.standalone.bench;

import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalDouble;

/// A measured figure.
///
/// @param phase                 `prefill` or `decode`
/// @param tokens                computed in one measurement
/// @param depth                 cached tokens before them
/// @param profile               number formats of the weights
/// @param provider              of the kernels, or the name of another program
/// @param dsa                   `auto` or `dense`
/// @param speed                 of the measurements
/// @param limitTokensPerSecond  what the machine's limits allow; empty where it is not known
/// @param microsPerToken        time inside each operator; empty for other programs
public record BenchRow(
        String phase,
        int tokens,
        int depth,
        String profile,
        String provider,
        String dsa,
        Speed speed,
        OptionalDouble limitTokensPerSecond,
        Map<String, Double> microsPerToken) {
    public BenchRow {
        microsPerToken = Collections.unmodifiableMap(new LinkedHashMap<>(microsPerToken));
    }

    /// The same with another limit.
    BenchRow withLimit(OptionalDouble limit) {
        return new BenchRow(phase, tokens, depth, profile, provider, dsa, speed, limit, microsPerToken);
    }

    /// Tokens per second over some measurements.
    ///
    /// @param median   of them
    /// @param min      of them
    /// @param max      of them
    /// @param repeats  how many
    public record Speed(double median, double min, double max, int repeats) {
        /// From the times of measurements.
        ///
        /// @param tokens   of each
        /// @param seconds  not empty; sorted by this
        static Speed of(int tokens, double[] seconds) {
            Arrays.sort(seconds);
            int n = seconds.length;
            double middle = (seconds[(n - 1) / 2] + seconds[n / 2]) / 2;
            return new Speed(tokens / middle, tokens / seconds[n - 1], tokens / seconds[0], n);
        }
    }
}
