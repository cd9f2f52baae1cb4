package io.millrace.benchmarks;

import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.QuantFormat;
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

/// A product with a weight matrix, one row to many; matrix after matrix, so that weights come from memory.
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class LinearBenchmark {
    @Param("mid")
    public String shape = "";

    @Param("auto")
    public String provider = "";

    @Param("0")
    public int threads;

    @Param({"BF16", "W8A8", "W4A8"})
    public QuantFormat format = QuantFormat.F32;

    @Param({"1", "4", "512"})
    public int rows;

    private Bench bench = new Bench("scalar", 1);
    private final List<PackedMatrix> matrices = new ArrayList<>();
    private MemorySegment x = MemorySegment.NULL;
    private MemorySegment y = MemorySegment.NULL;
    private int next;

    @Setup(Level.Trial)
    public void prepare() {
        Sizes sizes = Sizes.of(shape);
        bench = new Bench(provider, threads);
        matrices.clear();
        for (long bytes = 0; bytes < sizes.outOfCache(); ) {
            PackedMatrix matrix = bench.matrix(format, sizes.outputs(), sizes.hidden());
            matrices.add(matrix);
            bytes += matrix.data().byteSize();
        }
        x = bench.floats((long) rows * sizes.hidden());
        y = bench.zeros((long) rows * sizes.outputs());
    }

    @Benchmark
    public void linear() {
        bench.kernels().linear(matrices.get(next), x, rows, y);
        next = (next + 1) % matrices.size();
    }

    @TearDown(Level.Trial)
    public void release() {
        bench.close();
    }
}
