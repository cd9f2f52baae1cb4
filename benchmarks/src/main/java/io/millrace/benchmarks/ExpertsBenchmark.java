package io.millrace.benchmarks;

import io.millrace.kernels.ExpertGating;
import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.MoeWeights;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.RoutedExperts;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/// A mixture of experts, shared expert included; other rows in each call, so that they choose other experts.
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class ExpertsBenchmark {
    private static final int INPUTS = 61;

    @Param("mid")
    public String shape = "";

    @Param("auto")
    public String provider = "";

    @Param("0")
    public int threads;

    @Param({"W8A8", "W4A8"})
    public QuantFormat format = QuantFormat.F32;

    @Param({"1", "512"})
    public int rows;

    private Bench bench = new Bench("scalar", 1);
    private MoeWeights weights = new MoeWeights(
            new ExpertGating(1, 1, 1, 1, true, 1),
            bench.matrix(QuantFormat.F32, 1, 8),
            MemorySegment.NULL,
            RoutedExperts.of("expert ", List.of(mlp(QuantFormat.F32, 8, 8))),
            mlp(QuantFormat.F32, 8, 8));
    private MemorySegment x = MemorySegment.NULL;
    private MemorySegment y = MemorySegment.NULL;
    private int hidden;
    private int next;

    private GatedMlpWeights mlp(QuantFormat quant, int width, int size) {
        return new GatedMlpWeights(
                bench.matrix(quant, width, size), bench.matrix(quant, width, size), bench.matrix(quant, size, width));
    }

    @Setup(Level.Trial)
    public void prepare() {
        Sizes sizes = Sizes.of(shape);
        bench = new Bench(provider, threads);
        hidden = sizes.hidden();
        List<GatedMlpWeights> experts = new ArrayList<>();
        for (int expert = 0; expert < sizes.experts(); expert++) {
            experts.add(mlp(format, sizes.expertWidth(), hidden));
        }
        weights = new MoeWeights(
                new ExpertGating(sizes.experts(), sizes.chosen(), 1, 1, true, 1),
                bench.matrix(QuantFormat.F32, sizes.experts(), hidden),
                bench.zeros(sizes.experts()),
                RoutedExperts.of("expert ", experts),
                mlp(QuantFormat.W8A8, sizes.expertWidth(), hidden));
        x = bench.floats((long) (INPUTS + rows) * hidden);
        y = bench.zeros((long) rows * hidden);
    }

    @Benchmark
    public void moeExperts() {
        bench.kernels().moeExperts(weights, x.asSlice((long) next * hidden * Float.BYTES), rows, y);
        next = (next + 1) % INPUTS;
    }

    @TearDown(Level.Trial)
    public void release() {
        bench.close();
    }
}
