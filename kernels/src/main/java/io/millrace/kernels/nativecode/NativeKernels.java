package io.millrace.kernels.nativecode;

import io.millrace.kernels.AttentionRows;
import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.Hadamard;
import io.millrace.kernels.IndexerProlog;
import io.millrace.kernels.IntegerPanels;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.MlaWeights;
import io.millrace.kernels.MoeWeights;
import io.millrace.kernels.OperatorArguments;
import io.millrace.kernels.PackedMatrix;
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
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// Kernels in C for the instruction sets of [IsaLevel], all of which give the same bytes.
///
/// Java decides what is computed in which dispatch and fills an argument block in native memory; C
/// computes the chunks. Weights lie in panels of 16 outputs, so a sum over inputs stays in its lane and
/// its order is that of the inputs. Only the absorbed form of attention is computed.
///
/// C sees addresses only, so each operator ends with reachability fences.
public final class NativeKernels implements Kernels {
    private final IsaLevel level;
    private final KernelPool pool;
    private final Buffers buffers = new Buffers();
    private final LinearPhase linear;
    private final RowPhases rowPhases;
    private final RoundedRows rounded;
    private final PrologPhases prolog;
    private final IndexerPhases indexer;
    private final AttentionPhases attention;
    private final ExpertPhases experts;
    private final SamplingPhases sampling;

    private NativeKernels(NativeLibrary library, int threads) {
        level = library.level();
        pool = new KernelPool(threads);
        linear = new LinearPhase(library, buffers);
        rowPhases = new RowPhases(library, buffers, pool);
        rounded = new RoundedRows(buffers);
        prolog = new PrologPhases(library, buffers, pool, linear);
        indexer = new IndexerPhases(library, buffers, pool);
        attention = new AttentionPhases(library, buffers, pool, linear);
        experts = new ExpertPhases(library, buffers, pool, linear, rowPhases);
        sampling = new SamplingPhases(library, buffers, pool);
    }

    /// Why this provider cannot serve here; empty if it can.
    public static Optional<String> declines() {
        return NativeLibrary.absence();
    }

    /// Whether they cannot run although this build has them.
    public static boolean isBroken() {
        return NativeLibrary.isBroken();
    }

    /// Opens the kernels.
    ///
    /// @param threads  threads that compute, the caller's included
    /// @param cap      the instruction set to use; empty for the best of this processor
    /// @throws IllegalArgumentException if the processor lacks it
    public static NativeKernels open(int threads, Optional<IsaLevel> cap) {
        return new NativeKernels(NativeLibrary.open(cap), threads);
    }

    /// Levels this processor has, slowest first.
    public static List<IsaLevel> levels() {
        return NativeLibrary.levels();
    }

    /// Starts the threads; without it everything runs on the caller. Idempotent.
    public void start() {
        pool.start();
    }

    /// The instruction set in use.
    public IsaLevel level() {
        return level;
    }

    @Override
    public String name() {
        return "native";
    }

    @Override
    public String description() {
        return name() + " (" + level.id() + ")";
    }

    @Override
    public String numericsId() {
        return "native-v1";
    }

    /// How often scratch memory has grown.
    long scratchAllocations() {
        return buffers.allocations();
    }

    @Override
    public PackedMatrix pack(WeightSource matrix, Arena arena) {
        return switch (matrix) {
            case MatrixView floats -> LinearPhase.FLOATS.pack(floats, arena);
            case QuantizedMatrix codes -> IntegerPanels.pack(codes, arena);
        };
    }

    @Override
    public void linear(PackedMatrix weights, MemorySegment x, int rows, MemorySegment y) {
        OperatorArguments.linear(weights, LinearPhase.FLOATS.layout(), x, rows, y);
        if (rows == 0) {
            return;
        }
        try {
            int in = weights.inFeatures();
            if (weights.format().isInteger()) {
                var rounding = new RowPhases.Rounding(
                        x.address(), in, PrologPhases.inputScales(weights), in, RoundedRows.inputs(weights));
                rowPhases.round(rounding, rounded, rows);
            }
            linear.begin(1)
                    .add(
                            weights,
                            LinearPhase.Rows.of(x.address(), in, rounded, rows),
                            y.address(),
                            weights.outFeatures());
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
            rowPhases.rmsNorm(x.address(), gain.address(), width, rows, eps, y.address());
        } finally {
            Reference.reachabilityFence(x);
            Reference.reachabilityFence(gain);
            Reference.reachabilityFence(y);
        }
    }

    @Override
    public void hadamard(MemorySegment x, int block, MemorySegment scale, int rows, MemorySegment y) {
        int width = OperatorArguments.normWidth(x, scale, rows, y);
        Hadamard.check(block, width);
        try {
            rowPhases.hadamard(x.address(), block, scale.address(), width, rows, y.address());
        } finally {
            Reference.reachabilityFence(x);
            Reference.reachabilityFence(scale);
            Reference.reachabilityFence(y);
        }
    }

    @Override
    public void add(MemorySegment x, MemorySegment y, long elements) {
        OperatorArguments.floats("x", x, elements);
        OperatorArguments.floats("y", y, elements);
        try {
            rowPhases.add(x.address(), y.address(), elements);
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
        OperatorArguments.prolog(weights, LinearPhase.FLOATS.layout(), batch, out, indexerPart);
        OperatorArguments.rows(weights.shape(), x, rope, batch);
        AttentionPhases.check(out.form());
        try {
            if (batch.rows() > 0) {
                prolog.run(new PrologPhases.Call(weights, x, batch, rope, out, indexerPart));
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
        selection.firstSlot(batch.firstSlot());
        try {
            indexer.run(indexerPart, batch, selection);
        } finally {
            Reference.reachabilityFence(indexerPart);
        }
    }

    @Override
    public void sparseMlaAttention(
            MlaWeights weights, AttentionRows input, RowBatch batch, Selection selection, MemorySegment y) {
        OperatorArguments.attention(weights, LinearPhase.FLOATS.layout(), input, batch, y);
        AttentionPhases.check(input.form());
        try {
            attention.run(new AttentionPhases.Call(weights, input, batch, selection), y.address());
        } finally {
            Reference.reachabilityFence(weights);
            Reference.reachabilityFence(input);
            Reference.reachabilityFence(y);
        }
    }

    @Override
    public void gatedMlp(GatedMlpWeights weights, MemorySegment x, int rows, MemorySegment y) {
        OperatorArguments.gatedMlp(weights, LinearPhase.FLOATS.layout(), x, rows, y);
        try {
            if (rows > 0) {
                experts.dense(weights, x.address(), rows, y.address());
            }
        } finally {
            Reference.reachabilityFence(weights);
            Reference.reachabilityFence(x);
            Reference.reachabilityFence(y);
        }
    }

    @Override
    public void moeExperts(MoeWeights weights, MemorySegment x, int rows, MemorySegment y) {
        OperatorArguments.moe(weights, LinearPhase.FLOATS.layout(), x, rows, y);
        try {
            if (rows > 0) {
                experts.mixture(weights, x, rows, y.address());
            }
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
                sampling.run(logits.address(), batch, found);
            }
        } finally {
            Reference.reachabilityFence(logits);
        }
    }

    @Override
    public void close() {
        pool.close();
        buffers.close();
    }
}
