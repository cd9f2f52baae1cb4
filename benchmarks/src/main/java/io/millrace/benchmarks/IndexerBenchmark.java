package io.millrace.benchmarks;

import io.millrace.kernels.KvFormat;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
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

/// Scoring and selection over all slots; layer after layer, so that keys come from memory.
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 2, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class IndexerBenchmark {
    @Param("mid")
    public String shape = "";

    @Param("auto")
    public String provider = "";

    @Param("0")
    public int threads;

    @Param({"BF16", "INT8"})
    public KvFormat kv = KvFormat.F32;

    @Param({"1", "64"})
    public int rows;

    private @Nullable AttentionState state;

    @Setup(Level.Trial)
    public void prepare() {
        state = new AttentionState(new Bench(provider, threads), Sizes.of(shape), kv, rows, AttentionState.Varied.KEYS);
    }

    @Benchmark
    public void lightningIndexer() {
        if (state != null) {
            state.select();
        }
    }

    @TearDown(Level.Trial)
    public void release() {
        if (state != null) {
            state.close();
        }
    }
}
