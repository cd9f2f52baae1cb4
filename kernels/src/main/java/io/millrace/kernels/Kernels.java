package io.millrace.kernels;

import io.millrace.kernels.sampling.SamplingBatch;
import io.millrace.kernels.sampling.SamplingCandidates;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// The fused operators of the model. Activations are float32, row-major, little-endian, in native
/// memory aligned to 64 bytes; every segment is borrowed for the call.
///
/// Each output row depends on its own inputs alone: not on the other rows of the call, their number,
/// the number of threads or the order of calls, to the bit. Sums run in an order fixed by the shape.
/// Top-k is by score descending, then index ascending. A softmax weight more than 87 below its row's
/// maximum is exactly 0.
///
/// One instance serves one call at a time; it spreads the work over its pool.
public interface Kernels extends AutoCloseable {

    /// Name of the provider, as in `millrace.kernels.provider`.
    String name();

    /// The name and, for providers that have several, the instruction set that computes, e.g. `native
    /// (avx512)`.
    default String description() {
        return name();
    }

    /// Identifies the rounding behaviour: two instances with the same id compute the same bytes.
    String numericsId();

    /// Warms up what weights of some formats need and times it, kernel by kernel, to be called once before
    /// the first step. Empty for a provider whose speed does not depend on luck.
    ///
    /// @param formats  formats of the weights in use
    default List<KernelCheck> check(Set<QuantFormat> formats) {
        return List.of();
    }

    /// Packs a weight matrix: floats into this provider's layout, integers into [IntegerPanels]. The
    /// result's memory, one segment, comes from `arena`. Unlike the operators it may be called by several
    /// threads at once, and it does not use the pool; equal matrices give equal bytes, padding included.
    PackedMatrix pack(WeightSource matrix, Arena arena);

    /// `y = x Wᵀ`. x: `[rows, inFeatures]`, y: `[rows, outFeatures]`.
    ///
    /// With integer weights each row of x is rounded as [RowQuantization] says (after its elements were
    /// multiplied by the scales, if these are by input), the products are exact, and in float32
    /// `y = sum * (scale of x * scale of W)`; with groups `acc = fma(sum of the group, its scale, acc)`
    /// over the groups in order, then `y = acc * scale of x`.
    void linear(PackedMatrix weights, MemorySegment x, int rows, MemorySegment y);

    /// `y = x / sqrt(mean(x²) + eps) * gain`, row by row. x, y: `[rows, width]`, gain: `[width]`. x may
    /// be y.
    void rmsNorm(MemorySegment x, MemorySegment gain, float eps, int rows, MemorySegment y);

    /// `y = H(x) * scale`, element by element, where `H` is the block-diagonal [Hadamard] rotation.
    /// x, y: `[rows, width]`, scale: `[width]`. x may be y.
    ///
    /// @param block  a power of two that divides the width
    void hadamard(MemorySegment x, int block, MemorySegment scale, int rows, MemorySegment y);

    /// `y += x`, element by element.
    void add(MemorySegment x, MemorySegment y, long elements);

    /// Attention preprocessing: input norm, query and key/value projections, latent norms, split, rope,
    /// absorption of W_UK (in [MlaForm#ABSORBED]), the write of each row's latent into its page and,
    /// with an indexer, its queries, head weights and keys.
    ///
    /// @param weights  the layer
    /// @param x        residual stream, `[rows, hiddenSize]`; not changed
    /// @param batch    the rows and where they are cached
    /// @param rope     their rotations
    /// @param out      where queries and cached rows go
    /// @param indexer  the indexer's part, null in a layer that owns none
    void mlaProlog(
            MlaWeights weights,
            MemorySegment x,
            RowBatch batch,
            RopeRows rope,
            AttentionRows out,
            @Nullable IndexerProlog indexer);

    /// Scores `I[t,s] = Σ_h w[t,h] * max(0, q[t,h]·k[s])` over the visible slots and selects the best
    /// `topK` of each row; a row that sees at most `topK` slots selects all without scoring.
    ///
    /// With [KvFormat#INT8] keys each head's query is rounded as [RowQuantization] says, and in float32
    /// `acc = fma(w[h] * scale of q[h], max(0, dot), acc)` over the heads in order, then
    /// `I = acc * scale of k`.
    ///
    /// @param indexer    queries, head weights and keys, as `mlaProlog` left them
    /// @param batch      the rows
    /// @param selection  out: the selected slots
    void lightningIndexer(IndexerProlog indexer, RowBatch batch, Selection selection);

    /// Softmax attention of each row over its selected slots, W_UV included.
    ///
    /// With [KvFormat#INT8] keys the absorbed query's latent and roped parts are rounded as
    /// [RowQuantization] says, each with a scale of its own, and a score is the sum of the two integer
    /// products times their scales.
    ///
    /// @param weights    the layer
    /// @param input      queries and cached rows
    /// @param batch      the rows
    /// @param selection  the slots each row attends to
    /// @param y          out: `[rows, heads * vDim]`
    void sparseMlaAttention(
            MlaWeights weights, AttentionRows input, RowBatch batch, Selection selection, MemorySegment y);

    /// A dense SwiGLU feed-forward. x, y: `[rows, hiddenSize]`; y is overwritten.
    void gatedMlp(GatedMlpWeights weights, MemorySegment x, int rows, MemorySegment y);

    /// Gate in float32, chosen experts in ascending order, shared experts last.
    /// x, y: `[rows, hiddenSize]`; y is overwritten.
    void moeExperts(MoeWeights weights, MemorySegment x, int rows, MemorySegment y);

    /// Reads whole rows of logits: finds the largest, sums exponentials, and finds the tokens that can win
    /// a draw, so that what is left of sampling looks at a handful of tokens. Every provider gives the
    /// same bytes.
    ///
    /// - The first logit that is NaN or positive infinity; a row with one has nothing else.
    /// - The candidates: the largest logits, by logit descending, then id ascending.
    /// - The sums `Σ exp((logit - max) / temperature)` and `Σ exp(logit - max)`, all but the last step in
    ///   float32. `exp` is the polynomial of the softmax, exactly 0 below -87; the quotient is that of the
    ///   rounded difference. In slices of 4,096 tokens, blocks of 64, 16 lanes: a block's lane is
    ///   `(e0 + e1) + (e2 + e3)`, of its tokens 16 apart; a slice's lane sums its blocks in order; lanes are
    ///   summed by halves, 8 apart first; slices are summed in order, in double precision.
    /// - The contenders of a draw by the largest sum of scaled logit and Gumbel noise: every token whose sum
    ///   with the upper one of its [NoiseBounds] is above the largest sum of any token with its lower one,
    ///   in float32. None if they are more than 64, or more than 32 above the largest lower one of a slice.
    ///
    /// Where no logit of a row is above negative infinity, its sums are 0 and it has no contenders.
    ///
    /// @param logits  `[rows, vocabSize]`
    /// @param batch   what is wanted of each row
    /// @param found   out: what there is
    void sampleLogits(MemorySegment logits, SamplingBatch batch, SamplingCandidates found);

    /// Releases scratch memory and the threads. Idempotent.
    @Override
    void close();
}
