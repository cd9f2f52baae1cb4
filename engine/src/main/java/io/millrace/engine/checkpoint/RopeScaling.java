package io.millrace.engine.checkpoint;

import org.jspecify.annotations.Nullable;

/// The rotary embedding: base frequencies and, where the checkpoint asks for it, YaRN (arXiv 2309.00071).
///
/// @param theta  base of the frequencies
/// @param dim    rotated elements of a head; even
/// @param yarn   YaRN's parameters, null for the plain rotary embedding
public record RopeScaling(double theta, int dim, @Nullable Yarn yarn) {

    /// YaRN's parameters, named as in `config.json`.
    ///
    /// @param factor                context extension
    /// @param betaFast              rotations above which a frequency is kept
    /// @param betaSlow              rotations below which a frequency is divided by `factor`
    /// @param mscaleAllDim          weight of the correction of the softmax scale; above 0
    /// @param originalMaxPositions  context the model was trained on before
    public record Yarn(
            double factor, double betaFast, double betaSlow, double mscaleAllDim, int originalMaxPositions) {}

    /// Angle per position of each rotated pair, `[dim / 2]`, computed in float64 and rounded once.
    public float[] inverseFrequencies() {
        float[] result = new float[dim / 2];
        for (int i = 0; i < result.length; i++) {
            double plain = 1.0 / StrictMath.pow(theta, 2.0 * i / dim);
            result[i] = (float) (yarn == null ? plain : byParts(plain, i, yarn));
        }
        return result;
    }

    /// Factor of the softmax scale: the square of YaRN's mscale, 1 without YaRN.
    public double softmaxFactor() {
        if (yarn == null || yarn.factor <= 1) {
            return 1;
        }
        double mscale = 0.1 * yarn.mscaleAllDim * StrictMath.log(yarn.factor) + 1;
        return mscale * mscale;
    }

    // Pairs that turn often keep their frequency, pairs that turn seldom are stretched, those between are mixed.
    private double byParts(double plain, int pair, Yarn yarn) {
        double low = Math.max(Math.floor(pairOf(yarn.betaFast, yarn)), 0);
        double high = Math.min(Math.ceil(pairOf(yarn.betaSlow, yarn)), dim - 1);
        double width = low == high ? 0.001 : high - low;
        double stretched = Math.clamp((pair - low) / width, 0.0, 1.0);
        return plain / yarn.factor * stretched + plain * (1 - stretched);
    }

    private double pairOf(double rotations, Yarn yarn) {
        return dim
                * StrictMath.log(yarn.originalMaxPositions / (rotations * 2 * Math.PI))
                / (2 * StrictMath.log(theta));
    }
}
