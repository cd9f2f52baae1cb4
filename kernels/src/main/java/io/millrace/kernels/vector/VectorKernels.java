package io.millrace.kernels.vector;

import io.millrace.kernels.AttentionRows;
import io.millrace.kernels.FloatPanels;
import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.Hadamard;
import io.millrace.kernels.IndexerProlog;
import io.millrace.kernels.IntegerPanels;
import io.millrace.kernels.KernelCheck;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.MlaWeights;
import io.millrace.kernels.MoeWeights;
import io.millrace.kernels.OperatorArguments;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.QuantizedMatrix;
import io.millrace.kernels.RopeRows;
import io.millrace.kernels.RowBatch;
import io.millrace.kernels.Selection;
import io.millrace.kernels.WeightSource;
import io.millrace.kernels.pool.KernelPool;
import io.millrace.kernels.sampling.SamplingBatch;
import io.millrace.kernels.sampling.SamplingCandidates;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Kernels in SIMD lanes, for any CPU the JVM supports.
///
/// Weights are packed in panels of one vector of outputs, so a sum over inputs stays in its lane: the
/// order of its roundings is that of the inputs, whatever the number of rows, the tile or the thread.
/// Where lanes must be summed, a written tree does it.
///
/// The loops see addresses only. Each operator therefore ends with reachability fences: without them
/// the collector may free memory of an automatic arena whose last mention in the caller is the call
/// itself.
public final class VectorKernels implements Kernels {
    /// Float layout of this provider: panels of one vector.
    static final FloatPanels FLOATS = new FloatPanels(Lanes.COUNT);

    private static final String LAYOUT = FLOATS.layout();

    private final KernelPool pool;
    private final Scratch scratch = new Scratch();
    private final LinearBatch linear;
    private final ElementRows elements;
    private final PrologRows prolog;
    private final IndexerRows indexer;
    private final AttentionRuns attention;
    private final FeedForward feedForward;
    private final ExpertRows experts;
    private final SamplingRows sampling;

    /// @param threads  threads that compute, the caller's included
    public VectorKernels(int threads) {
        pool = new KernelPool(threads);
        linear = new LinearBatch(pool, scratch);
        elements = new ElementRows(pool);
        prolog = new PrologRows(pool, linear, scratch);
        indexer = new IndexerRows(pool, scratch);
        attention = new AttentionRuns(pool, linear, scratch);
        feedForward = new FeedForward(pool, linear, scratch);
        experts = new ExpertRows(pool, linear, scratch);
        sampling = new SamplingRows(pool, scratch);
    }

    /// Starts the threads; without it everything runs on the caller. Idempotent.
    public void start() {
        pool.start();
    }

    /// On an unlucky launch the compiler leaves a kernel boxing its vectors, and nothing but a clock shows it.
    @Override
    public List<KernelCheck> check(Set<QuantFormat> formats) {
        try (KernelProbes probes = new KernelProbes()) {
            return new SelfCheck(System::nanoTime).run(probes.of(formats), probes.scratch());
        }
    }

    @Override
    public String name() {
        return "vector";
    }

    @Override
    public String numericsId() {
        return "vector-" + Lanes.COUNT + "-v1";
    }

    /// How often scratch memory has grown.
    long scratchAllocations() {
        return scratch.allocations();
    }

    @Override
    public PackedMatrix pack(WeightSource matrix, Arena arena) {
        return switch (matrix) {
            case MatrixView floats -> FLOATS.pack(floats, arena);
            case QuantizedMatrix codes -> {
                PackedMatrix packed = IntegerPanels.pack(codes, arena);
                RoundedRows.check(packed);
                yield packed;
            }
        };
    }

    @Override
    public void hadamard(MemorySegment x, int block, MemorySegment scale, int rows, MemorySegment y) {
        int width = OperatorArguments.normWidth(x, scale, rows, y);
        Hadamard.check(block, width);
        try {
            elements.into(Lanes.address(y)).rotate(Lanes.address(x), block, Lanes.address(scale), width, rows);
        } finally {
            Reference.reachabilityFence(x);
            Reference.reachabilityFence(scale);
            Reference.reachabilityFence(y);
        }
    }

    @Override
    public void linear(PackedMatrix weights, MemorySegment x, int rows, MemorySegment y) {
        OperatorArguments.linear(weights, LAYOUT, x, rows, y);
        try {
            linear.clear();
            long row = weights.inFeatures() * 4L;
            linear.add(weights, Lanes.address(x), row, rows, Lanes.address(y), weights.outFeatures() * 4L);
            linear.run(pool);
        } finally {
            Reference.reachabilityFence(weights);
            Reference.reachabilityFence(x);
            Reference.reachabilityFence(y);
        }
    }

    @Override
    public void rmsNorm(MemorySegment x, MemorySegment gain, float eps, int rows, MemorySegment y) {
        int width = OperatorArguments.normWidth(x, gain, rows, y);
        try {
            elements.into(Lanes.address(y)).rmsNorm(Lanes.address(x), Lanes.address(gain), width, rows, eps);
        } finally {
            Reference.reachabilityFence(x);
            Reference.reachabilityFence(gain);
            Reference.reachabilityFence(y);
        }
    }

    @Override
    public void add(MemorySegment x, MemorySegment y, long count) {
        OperatorArguments.floats("x", x, count);
        OperatorArguments.floats("y", y, count);
        try {
            elements.add(Lanes.address(x), Lanes.address(y), count);
        } finally {
            Reference.reachabilityFence(x);
            Reference.reachabilityFence(y);
        }
    }

    @Override
    public void mlaProlog(
            MlaWeights weights,
            MemorySegment x,
            RowBatch batch,
            RopeRows rope,
            AttentionRows out,
            @Nullable IndexerProlog indexerPart) {
        OperatorArguments.prolog(weights, LAYOUT, batch, out, indexerPart);
        OperatorArguments.rows(weights.shape(), x, rope, batch);
        try {
            if (batch.rows() > 0) {
                prolog.run(Lanes.address(x), new PrologRows.Call(weights, batch, rope, out), indexerPart);
            }
        } finally {
            Reference.reachabilityFence(weights);
            Reference.reachabilityFence(x);
            Reference.reachabilityFence(rope);
            Reference.reachabilityFence(out);
            Reference.reachabilityFence(indexerPart);
        }
    }

    @Override
    public void lightningIndexer(IndexerProlog indexerPart, RowBatch batch, Selection selection) {
        OperatorArguments.indexer(indexerPart, batch, selection);
        try {
            indexer.run(indexerPart, batch, selection);
        } finally {
            Reference.reachabilityFence(indexerPart);
        }
    }

    @Override
    public void sparseMlaAttention(
            MlaWeights weights, AttentionRows input, RowBatch batch, Selection selection, MemorySegment y) {
        OperatorArguments.attention(weights, LAYOUT, input, batch, y);
        try {
            attention.run(new AttentionRuns.Call(weights, input, batch, selection), Lanes.address(y));
        } finally {
            Reference.reachabilityFence(weights);
            Reference.reachabilityFence(input);
            Reference.reachabilityFence(y);
        }
    }

    @Override
    public void gatedMlp(GatedMlpWeights weights, MemorySegment x, int rows, MemorySegment y) {
        OperatorArguments.gatedMlp(weights, LAYOUT, x, rows, y);
        try {
            feedForward.run(weights, Lanes.address(x), rows, Lanes.address(y));
        } finally {
            Reference.reachabilityFence(weights);
            Reference.reachabilityFence(x);
            Reference.reachabilityFence(y);
        }
    }

    @Override
    public void moeExperts(MoeWeights weights, MemorySegment x, int rows, MemorySegment y) {
        OperatorArguments.moe(weights, LAYOUT, x, rows, y);
        try {
            experts.run(weights, Lanes.address(x), rows, Lanes.address(y));
        } finally {
            Reference.reachabilityFence(weights);
            Reference.reachabilityFence(x);
            Reference.reachabilityFence(y);
        }
    }

    @Override
    public void sampleLogits(MemorySegment logits, SamplingBatch batch, SamplingCandidates found) {
        OperatorArguments.sampling(logits, batch, found);
        try {
            if (batch.rows() > 0) {
                sampling.run(Lanes.address(logits), batch, found);
            }
        } finally {
            Reference.reachabilityFence(logits);
        }
    }

    @Override
    public void close() {
        pool.close();
        scratch.close();
    }
}
