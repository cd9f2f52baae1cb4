package io.millrace.kernels;

import io.millrace.kernels.sampling.SamplingBatch;
import io.millrace.kernels.sampling.SamplingCandidates;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Hands every operator on to other kernels. Extend it to watch some of them.
public abstract class ForwardingKernels implements Kernels {
    /// What computes.
    protected final Kernels kernels;

    /// @param kernels  what computes; closed with this
    protected ForwardingKernels(Kernels kernels) {
        this.kernels = kernels;
    }

    @Override
    public String name() {
        return kernels.name();
    }

    @Override
    public String description() {
        return kernels.description();
    }

    @Override
    public String numericsId() {
        return kernels.numericsId();
    }

    @Override
    public List<KernelCheck> check(Set<QuantFormat> formats) {
        return kernels.check(formats);
    }

    @Override
    public PackedMatrix pack(WeightSource matrix, Arena arena) {
        return kernels.pack(matrix, arena);
    }

    @Override
    public void linear(PackedMatrix weights, MemorySegment x, int rows, MemorySegment y) {
        kernels.linear(weights, x, rows, y);
    }

    @Override
    public void rmsNorm(MemorySegment x, MemorySegment gain, float eps, int rows, MemorySegment y) {
        kernels.rmsNorm(x, gain, eps, rows, y);
    }

    @Override
    public void hadamard(MemorySegment x, int block, MemorySegment scale, int rows, MemorySegment y) {
        kernels.hadamard(x, block, scale, rows, y);
    }

    @Override
    public void add(MemorySegment x, MemorySegment y, long elements) {
        kernels.add(x, y, elements);
    }

    @Override
    public void mlaProlog(
            MlaWeights weights,
            MemorySegment x,
            RowBatch batch,
            RopeRows rope,
            AttentionRows out,
            @Nullable IndexerProlog indexer) {
        kernels.mlaProlog(weights, x, batch, rope, out, indexer);
    }

    @Override
    public void lightningIndexer(IndexerProlog indexer, RowBatch batch, Selection selection) {
        kernels.lightningIndexer(indexer, batch, selection);
    }

    @Override
    public void sparseMlaAttention(
            MlaWeights weights, AttentionRows input, RowBatch batch, Selection selection, MemorySegment y) {
        kernels.sparseMlaAttention(weights, input, batch, selection, y);
    }

    @Override
    public void gatedMlp(GatedMlpWeights weights, MemorySegment x, int rows, MemorySegment y) {
        kernels.gatedMlp(weights, x, rows, y);
    }

    @Override
    public void moeExperts(MoeWeights weights, MemorySegment x, int rows, MemorySegment y) {
        kernels.moeExperts(weights, x, rows, y);
    }

    @Override
    public void sampleLogits(MemorySegment logits, SamplingBatch batch, SamplingCandidates found) {
        kernels.sampleLogits(logits, batch, found);
    }

    @Override
    public void close() {
        kernels.close();
    }
}
