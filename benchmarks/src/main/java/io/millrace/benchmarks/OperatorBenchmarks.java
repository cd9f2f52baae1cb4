package io.millrace.benchmarks;

import io.millrace.kernels.KvFormat;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.nativecode.MachineLimits;
import io.millrace.kernels.nativecode.NativeKernels;
import java.io.PrintStream;
import java.util.Collection;
import java.util.Locale;
import java.util.Optional;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;

/// Runs the benchmarks of operators, arguments as JMH takes them, and prints each one's share of what the
/// machine can do, which it measures before and after.
public final class OperatorBenchmarks {
    private static final double MICROS = 1e6;
    private static final double GIGA = 1e9;

    private OperatorBenchmarks() {}

    public static void main(String[] args) throws RunnerException, CommandLineOptionException {
        CommandLineOptions options = new CommandLineOptions(args);
        if (options.shouldHelp()) {
            System.out.println("arguments: of JMH, e.g. LinearBenchmark -p format=W8A8 -p rows=1");
            return;
        }
        Optional<MachineLimits> before = measure();
        Collection<RunResult> results = new Runner(options).run();
        Optional<MachineLimits> limits = before.flatMap(early -> measure().map(early::best));
        print(results, limits, System.out);
    }

    private static Optional<MachineLimits> measure() {
        return NativeKernels.declines().isPresent()
                ? Optional.empty()
                : Optional.of(MachineLimits.measure(Bench.processors(), Optional.empty()));
    }

    static void print(Collection<RunResult> results, Optional<MachineLimits> limits, PrintStream out) {
        limits.ifPresent(machine -> out.printf(
                Locale.ROOT,
                "%nmachine: %d threads, %s; reads %.1f GB/s, int8 %.0f GOPS, float32 %.0f GFLOPS%n",
                machine.threads(),
                machine.isa().id(),
                machine.readBytesPerSecond() / GIGA,
                machine.int8OpsPerSecond() / GIGA,
                machine.floatOpsPerSecond() / GIGA));
        for (RunResult result : results) {
            BenchmarkParams params = result.getParams();
            double micros = result.getPrimaryResult().getScore();
            StringBuilder name = new StringBuilder(params.getBenchmark().replaceAll("^.*\\.", ""));
            params.getParamsKeys().forEach(key -> name.append(' ').append(params.getParam(key)));
            out.printf(Locale.ROOT, "%-48s %12.1f us", name, micros);
            limits.ifPresent(machine -> out.printf(
                    Locale.ROOT, "  %4.0f %%", 100 * MICROS * cost(params).seconds(machine) / micros));
            out.println();
        }
    }

    static OperatorCost cost(BenchmarkParams params) {
        Sizes sizes = Sizes.of(params.getParam("shape"));
        int rows = Integer.parseInt(params.getParam("rows"));
        String operator = params.getBenchmark().replaceAll("^.*\\.", "");
        return switch (operator) {
            case "linear" -> OperatorCost.linear(sizes, QuantFormat.valueOf(params.getParam("format")), rows);
            case "moeExperts" -> OperatorCost.experts(sizes, QuantFormat.valueOf(params.getParam("format")), rows);
            case "mlaProlog" -> OperatorCost.prolog(sizes, rows);
            case "lightningIndexer" -> OperatorCost.indexer(sizes, KvFormat.valueOf(params.getParam("kv")), rows);
            case "sparseMlaAttention" -> OperatorCost.attention(sizes, KvFormat.valueOf(params.getParam("kv")), rows);
            default -> throw new IllegalArgumentException("operator: " + operator + " (expected: a known one)");
        };
    }
}
