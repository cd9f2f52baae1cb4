package io.millrace.standalone.bench;

import io.millrace.kernels.nativecode.MachineLimits;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/// A measured figure.
///
/// @param work            what was computed
/// @param profile         number formats of the weights
/// @param provider        of the kernels, or the name of another program
/// @param dsa             `auto` or `dense`
/// @param speed           of the measurements
/// @param medianStepSeconds  of all steps of all measurements; empty for other programs
/// @param microsPerToken  time inside each operator, the median of the measurements; empty for other programs
/// @param cost            of a token; empty for other programs
/// @param machine         its limits right before and after each measurement; empty where there is no C code
///                        to measure them with, and for other programs
public record BenchRow(
        BenchWork work,
        String profile,
        String provider,
        String dsa,
        Speed speed,
        OptionalDouble medianStepSeconds,
        Map<String, Double> microsPerToken,
        Optional<RowCost> cost,
        Optional<MachineLimits> machine) {
    /// Operators made of products with weights.
    static final List<String> WEIGHT_OPERATORS =
            List.of(TimedKernels.PROLOG, TimedKernels.LINEAR, TimedKernels.MLP, TimedKernels.EXPERTS);

    /// Operators that attention spends time in because of the cached tokens.
    static final List<String> ATTENTION_OPERATORS = List.of(TimedKernels.INDEXER, TimedKernels.ATTENTION);

    static final String DENSE = "dense";
    static final String AUTO = "auto";
    private static final double MICRO = 1e6;

    public BenchRow {
        microsPerToken = Collections.unmodifiableMap(new LinkedHashMap<>(microsPerToken));
    }

    /// Tokens per second over some measurements.
    ///
    /// @param median   of them; of an even number of measurements the mean of the two speeds in the middle
    /// @param min      of them
    /// @param max      of them
    /// @param repeats  how many
    public record Speed(double median, double min, double max, int repeats) {
        /// From the times of measurements.
        ///
        /// @param tokens   of each
        /// @param seconds  not empty
        static Speed of(int tokens, double[] seconds) {
            double[] speeds = Arrays.stream(seconds).map(one -> tokens / one).toArray();
            double middle = median(speeds);
            return new Speed(middle, speeds[0], speeds[speeds.length - 1], speeds.length);
        }

        /// The middle of some values, which are sorted by this.
        static double median(double[] values) {
            Arrays.sort(values);
            int n = values.length;
            return (values[(n - 1) / 2] + values[n / 2]) / 2;
        }
    }

    /// Microseconds a token takes.
    double wholeMicros() {
        return MICRO / speed.median();
    }

    /// What the machine's limits allow.
    public OptionalDouble limitTokensPerSecond() {
        return both().map(c -> c.limitTokensPerSecond(machine.orElseThrow()))
                .map(OptionalDouble::of)
                .orElse(OptionalDouble.empty());
    }

    /// How much of its limit it reaches, 1 for all.
    public OptionalDouble shareOfLimit() {
        OptionalDouble limit = limitTokensPerSecond();
        return limit.isEmpty() ? limit : OptionalDouble.of(speed.median() / limit.getAsDouble());
    }

    private Optional<RowCost> both() {
        return machine.isPresent() ? cost : Optional.empty();
    }

    /// Bytes a token reads at least; empty for prefill, which is limited by products.
    public OptionalDouble bytesPerToken() {
        return cost.isPresent() && cost.get().bound() instanceof RowCost.Reads(double bytes)
                ? OptionalDouble.of(bytes)
                : OptionalDouble.empty();
    }

    /// These bytes over the time taken.
    public OptionalDouble bytesPerSecond() {
        OptionalDouble bytes = bytesPerToken();
        return bytes.isEmpty() ? bytes : OptionalDouble.of(bytes.getAsDouble() * speed.median());
    }

    /// Microseconds the median step takes; empty for other programs and for prefill, whose steps differ.
    public OptionalDouble medianStepMicros() {
        return medianStepSeconds.isEmpty() || work.phase() == BenchPhase.PREFILL
                ? OptionalDouble.empty()
                : OptionalDouble.of(MICRO * medianStepSeconds.getAsDouble());
    }

    /// The bytes of a step over the time of the median step: what it reads at while nobody takes the processor away.
    public OptionalDouble medianStepBytesPerSecond() {
        OptionalDouble bytes = bytesPerToken();
        return bytes.isEmpty() || medianStepSeconds.isEmpty()
                ? OptionalDouble.empty()
                : OptionalDouble.of(bytes.getAsDouble() * work.rowsPerStep() / medianStepSeconds.getAsDouble());
    }

    /// Integer products with weights over the time inside the operators that are made of them, as a share of
    /// the machine's int8 peak. That time includes roundings and row work, so it is a lower bound of the share
    /// that the products themselves reach. For prefill with integer weights only.
    public OptionalDouble int8Share() {
        return int8Share(machine);
    }

    /// The same, of the peak of the median round.
    public OptionalDouble int8ShareOfMedianRound() {
        return int8Share(machine.map(MachineLimits::typical));
    }

    private OptionalDouble int8Share(Optional<MachineLimits> limits) {
        double micros = micros(WEIGHT_OPERATORS);
        if (both().isEmpty()
                || !(both().get().bound() instanceof RowCost.Computes computes)
                || computes.int8InWeights() == 0
                || micros == 0) {
            return OptionalDouble.empty();
        }
        double atPeak = new RowCost.Products(computes.int8InWeights(), 0).seconds(limits.orElseThrow());
        return OptionalDouble.of(MICRO * atPeak / micros);
    }

    /// Microseconds a token spends in indexer and attention; empty for other programs.
    public OptionalDouble attentionMicros() {
        return microsPerToken.isEmpty() ? OptionalDouble.empty() : OptionalDouble.of(micros(ATTENTION_OPERATORS));
    }

    /// How much of its own limit dense attention reaches, 1 for all; empty for sparse attention.
    public OptionalDouble attentionShare() {
        return attentionShare(machine);
    }

    /// The same, of the limit that the median round allows.
    public OptionalDouble attentionShareOfMedianRound() {
        return attentionShare(machine.map(MachineLimits::typical));
    }

    private OptionalDouble attentionShare(Optional<MachineLimits> limits) {
        double micros = micros(List.of(TimedKernels.ATTENTION));
        return micros == 0
                ? OptionalDouble.empty()
                : both().flatMap(RowCost::attention)
                        .map(a -> OptionalDouble.of(a.limitMicros(limits.orElseThrow()) / micros))
                        .orElse(OptionalDouble.empty());
    }

    private double micros(Collection<String> operators) {
        double sum = 0;
        for (String operator : operators) {
            sum += microsPerToken.getOrDefault(operator, 0.0);
        }
        return sum;
    }
}
