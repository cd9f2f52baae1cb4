package io.millrace.kernels;

/// Sizes and constants of a multi-head latent attention layer.
///
/// @param hiddenSize    width of the residual stream
/// @param heads         query heads
/// @param qLoraRank     width of the query latent
/// @param kvLoraRank    width of the key/value latent
/// @param nopeDim       unrotated part of a head
/// @param ropeDim       rotated part of a head and of the shared key
/// @param vDim          value width of a head
/// @param ropeStyle     pairing of the rotated part
/// @param rmsEps        epsilon of the input norm
/// @param latentRmsEps  epsilon of the two latent norms
/// @param softmaxScale  factor of the scores
public record MlaShape(
        int hiddenSize,
        int heads,
        int qLoraRank,
        int kvLoraRank,
        int nopeDim,
        int ropeDim,
        int vDim,
        RopeStyle ropeStyle,
        float rmsEps,
        float latentRmsEps,
        float softmaxScale) {

    /// Elements of a cached row: the normed latent, then the roped key.
    public int cacheRow() {
        return kvLoraRank + ropeDim;
    }

    /// Elements of one head's query in the given form: latent + rope when absorbed, nope + rope when naive.
    public int queryRow(MlaForm form) {
        return switch (form) {
            case ABSORBED -> kvLoraRank + ropeDim;
            case NAIVE -> nopeDim + ropeDim;
        };
    }
}
