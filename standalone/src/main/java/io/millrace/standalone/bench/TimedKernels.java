package io.millrace.standalone.bench;

import io.millrace.kernels.AttentionRows;
import io.millrace.kernels.ForwardingKernels;
import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.IndexerProlog;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.MlaWeights;
import io.millrace.kernels.MoeWeights;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.RopeRows;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.Selection;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// Adds up the time spent inside each operator of other kernels and, on demand, what the operators touch.
final class TimedKernels extends ForwardingKernels {
    static final String PROLOG = "mlaProlog";
    static final String INDEXER = "lightningIndexer";
    static final String ATTENTION = "sparseMlaAttention";
    static final String LINEAR = "linear";
    static final String MLP = "gatedMlp";
    static final String EXPERTS = "moeExperts";

    /// Time inside an operator.
    private static final class Stopwatch {
        private final String operator;
        private long nanos;

        Stopwatch(String operator) {
            this.operator = operator;
        }
    }

    private final Stopwatch prolog = new Stopwatch(PROLOG);
    private final Stopwatch indexing = new Stopwatch(INDEXER);
    private final Stopwatch attention = new Stopwatch(ATTENTION);
    private final Stopwatch products = new Stopwatch(LINEAR);
    private final Stopwatch mlp = new Stopwatch(MLP);
    private final Stopwatch experts = new Stopwatch(EXPERTS);
    private final Stopwatch rowWork = new Stopwatch("norms and sums");
    private final List<Stopwatch> all = List.of(prolog, indexing, attention, products, mlp, experts, rowWork);
    private @Nullable TouchedBytes touched;
    private long started;

    TimedKernels(Kernels kernels) {
        super(kernels);
    }

    /// Sets what counts the bytes that the next operators touch; null for nothing. Counting takes time of its own.
    void count(@Nullable TouchedBytes bytes) {
        this.touched = bytes;
    }

    void reset() {
        for (Stopwatch watch : all) {
            watch.nanos = 0;
        }
    }

    /// Nanoseconds inside each operator, by its name.
    Map<String, Long> nanos() {
        Map<String, Long> times = new LinkedHashMap<>();
        for (Stopwatch watch : all) {
            times.put(watch.operator, watch.nanos);
        }
        return times;
    }

    private void begin() {
        started = System.nanoTime();
    }

    private void end(Stopwatch watch) {
        watch.nanos += System.nanoTime() - started;
    }

    @Override
    public void linear(PackedMatrix weights, MemorySegment x, int rows, MemorySegment y) {
        begin();
        kernels.linear(weights, x, rows, y);
        end(products);
    }

    @Override
    public void rmsNorm(MemorySegment x, MemorySegment gain, float eps, int rows, MemorySegment y) {
        begin();
        kernels.rmsNorm(x, gain, eps, rows, y);
        end(rowWork);
    }

    @Override
    public void hadamard(MemorySegment x, int block, MemorySegment scale, int rows, MemorySegment y) {
        begin();
        kernels.hadamard(x, block, scale, rows, y);
        end(rowWork);
    }

    @Override
    public void add(MemorySegment x, MemorySegment y, long elements) {
        begin();
        kernels.add(x, y, elements);
        end(rowWork);
    }

    @Override
    public void mlaProlog(
            MlaWeights weights,
            MemorySegment x,
            RowBatch batch,
            RopeRows rope,
            AttentionRows out,
            @Nullable IndexerProlog indexer) {
        begin();
        kernels.mlaProlog(weights, x, batch, rope, out, indexer);
        end(prolog);
    }

    @Override
    public void lightningIndexer(IndexerProlog indexer, RowBatch batch, Selection selection) {
        if (touched != null) {
            touched.indexKeys(indexer, batch);
        }
        begin();
        kernels.lightningIndexer(indexer, batch, selection);
        end(indexing);
    }

    @Override
    public void sparseMlaAttention(
            MlaWeights weights, AttentionRows input, RowBatch batch, Selection selection, MemorySegment y) {
        if (touched != null) {
            touched.latents(input, batch, selection);
        }
        begin();
        kernels.sparseMlaAttention(weights, input, batch, selection, y);
        end(attention);
    }

    @Override
    public void gatedMlp(GatedMlpWeights weights, MemorySegment x, int rows, MemorySegment y) {
        begin();
        kernels.gatedMlp(weights, x, rows, y);
        end(mlp);
    }

    @Override
    public void moeExperts(MoeWeights weights, MemorySegment x, int rows, MemorySegment y) {
        if (touched != null) {
            touched.experts(kernels, weights, x, rows);
        }
        begin();
        kernels.moeExperts(weights, x, rows, y);
        end(experts);
    }
}
