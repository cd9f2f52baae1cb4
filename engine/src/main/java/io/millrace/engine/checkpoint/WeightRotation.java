package io.millrace.engine.checkpoint;

import io.millrace.kernels.Hadamard;
import java.util.List;

/// The rotation that was folded into a checkpoint's weights, after QuaRot (arXiv 2404.00456): `x R`
/// with `R = D H`, random signs, then the block-diagonal [Hadamard] rotation, applied to the residual
/// stream, to the latents of queries and keys, to every head's values, and to the inner activations of
/// feed-forwards.
///
/// What a rotated checkpoint holds, for a residual stream `h R` in place of `h`:
///
/// - Norms that only read the stream (`input_layernorm`, `post_attention_layernorm`,
///   `enorm`) have gain 1, and so have the latent norms: their gains are folded into the columns of the
///   matrices behind them, before `R`.
/// - `model.norm`, `shared_head.norm` and `hnorm` keep their gains, because what they yield or take is
///   the true state that MTP, caches and drafts exchange: after the norm without its gain the state is
///   `H(x) * signs * gain`. `lm_head` and the state's half of `eh_proj` read that state through `H`
///   alone, which is computed at run time; so one head serves both norms exactly, whatever their gains.
/// - The rows of W_UV and the columns of `o_proj` are rotated within each head.
/// - The signs of a feed-forward's inner activations are folded into `up_proj`; their `H` is computed at
///   run time, `down_proj` is rotated to match.
///
/// A program that does not know this key computes nonsense from such a checkpoint.
///
/// @param seed           of the signs
/// @param residualBlock  block of the residual stream
/// @param queryBlock     block of the query latent
/// @param latentBlock    block of the key and value latent, which pages hold
/// @param valueBlock     block within a head's values
/// @param denseBlock     block of the inner activations of dense feed-forwards
/// @param expertBlock    of routed experts
/// @param sharedBlock    of the shared experts
public record WeightRotation(
        int seed,
        int residualBlock,
        int queryBlock,
        int latentBlock,
        int valueBlock,
        int denseBlock,
        int expertBlock,
        int sharedBlock) {
    /// The key of `config.json`.
    public static final String KEY = "millrace_rotation";

    /// Version of what the key means.
    public static final int VERSION = 1;

    static final List<String> KEYS = List.of(
            "version",
            "seed",
            "residual_block",
            "query_block",
            "latent_block",
            "value_block",
            "dense_block",
            "expert_block",
            "shared_block");

    private static final long STEP = 0x9e3779b97f4a7c15L;

    /// What signs are drawn for.
    public enum Stream {
        /// Residual stream, `[hiddenSize]`.
        RESIDUAL(0),
        /// Values of a head, `[vDim]`, the same in each.
        VALUE(1),
        /// Inner activations of a feed-forward, `[width]`.
        INNER(2),
        /// Query latent, `[qLoraRank]`.
        QUERY(3),
        /// Key and value latent, `[kvLoraRank]`.
        LATENT(4);

        private final int number;

        Stream(int number) {
            this.number = number;
        }
    }

    /// The rotation with the largest blocks that the sizes of a model allow.
    public static WeightRotation largest(ModelConfig config, int seed) {
        return new WeightRotation(
                seed,
                Hadamard.largestBlock(config.hiddenSize()),
                Hadamard.largestBlock(config.mlaShape().qLoraRank()),
                Hadamard.largestBlock(config.mlaShape().kvLoraRank()),
                Hadamard.largestBlock(config.mlaShape().vDim()),
                Hadamard.largestBlock(config.intermediateSize()),
                Hadamard.largestBlock(config.moeIntermediateSize()),
                Hadamard.largestBlock(config.sharedExperts() * config.moeIntermediateSize()));
    }

    /// Signs of `D`, 1 or -1: element `i` is the lowest bit of SplitMix64's mix of `seed * 2^32 +
    /// stream * 2^28 + i`.
    public float[] signs(Stream stream, int width) {
        float[] signs = new float[width];
        for (int i = 0; i < width; i++) {
            long z = (((long) seed << 32) + ((long) stream.number << 28) + i) * STEP;
            z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
            z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
            signs[i] = ((z ^ (z >>> 31)) & 1) == 0 ? 1 : -1;
        }
        return signs;
    }

    /// What identifies the arithmetic at run time.
    public String id() {
        return "quarot-" + VERSION + ":" + seed + ":" + residualBlock + ":" + queryBlock + ":" + latentBlock + ":"
                + valueBlock + ":" + denseBlock + ":" + expertBlock + ":" + sharedBlock;
    }
}
