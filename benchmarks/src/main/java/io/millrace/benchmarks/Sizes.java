package io.millrace.benchmarks;

import io.millrace.kernels.MlaShape;
import io.millrace.kernels.RopeStyle;

/// Sizes of a layer whose operators are measured.
///
/// @param mla         attention
/// @param indexHeads  heads of the indexer
/// @param indexDim    their width
/// @param topK        slots a row selects
/// @param context     slots a row sees
/// @param experts     routed experts
/// @param chosen      of them for a token
/// @param expertWidth their inner width
/// @param outputs     of the single product
/// @param outOfCache  bytes after which no cache remembers the first ones
record Sizes(
        MlaShape mla,
        int indexHeads,
        int indexDim,
        int topK,
        int context,
        int experts,
        int chosen,
        int expertWidth,
        int outputs,
        long outOfCache) {
    /// The shape `mid` of `shapes/`, or `tiny`, to see that a benchmark runs.
    static Sizes of(String shape) {
        return switch (shape) {
            case "mid" ->
                new Sizes(
                        mla(2048, 16, 768, new int[] {512, 192, 64, 256}),
                        16,
                        128,
                        2048,
                        16_384,
                        64,
                        8,
                        768,
                        6144,
                        256L << 20);
            case "tiny" -> new Sizes(mla(64, 2, 32, new int[] {32, 16, 16, 16}), 2, 32, 64, 192, 4, 2, 32, 64, 1);
            default -> throw new IllegalArgumentException("shape: \"" + shape + "\" (expected: mid or tiny)");
        };
    }

    // dims: kvLoraRank, nope, rope, value
    private static MlaShape mla(int hidden, int heads, int queryRank, int[] dims) {
        return new MlaShape(
                hidden,
                heads,
                queryRank,
                dims[0],
                dims[1],
                dims[2],
                dims[3],
                RopeStyle.INTERLEAVED,
                1e-5f,
                1e-6f,
                (float) (1 / Math.sqrt(dims[1] + dims[2])));
    }

    int hidden() {
        return mla.hiddenSize();
    }
}
