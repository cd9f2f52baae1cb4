package io.millrace.kernels.sampling;

/// Bounds of the Gumbel noise `g = -log(-log(u))`, `u = (word + 0.5) / 2^32`, of a random word, without
/// logarithms: float32 operations that every provider can do in lanes, with the same result to the bit.
///
/// With `q = 1 - u` the noise is at most `-log(q)`, as `-log(1 - q) >= q`. The logarithm to base 2 of a
/// positive float is at least what its bits say when they are read as an integer, in units of `2^-23`,
/// less 127: exponent plus mantissa; it is at most 0.0861 more. The upper bound reads `q` rounded down so.
/// Where `q < 1/4`, the noise is at most `log(-log(3/4) / (1/4)) = 0.1404` below `-log(q)`, whence the
/// lower bound. Elsewhere the noise as a function of `u` lies above its chord from `(0, -3.14)` to `1/e`,
/// where it is concave, and above its tangent at `1/2`, where it is convex; the lesser of the two lines is
/// below it everywhere.
public final class NoiseBounds {
    /// The largest upper bound of any word.
    public static final float LARGEST = upper(-1);

    /// `-log(2) * 2^-23`.
    public static final float SLOPE = -8.262958e-8f;

    /// `158 log(2) + 0.0007`: 31 for the halved word, 127 for the exponent's bias; the rest is slack for rounding, here
    /// and of sums of it.
    public static final float START = 109.518f;

    /// Complements below this have `q < 1/4`.
    private static final int QUARTER = 1 << 30;

    /// From this complement on, halving it moves the logarithm by less than 0.032.
    private static final int FINE = 32;

    private NoiseBounds() {}

    /// A number above the noise of a word, by at most 0.25 where the noise is from 1.3 to 18.
    public static float upper(int word) {
        float halved = (float) (~word >>> 1) + 0.25f;
        return Math.fma((float) Float.floatToRawIntBits(halved), SLOPE, START);
    }

    /// A number below the noise of a word.
    public static float lower(int word) {
        int complement = ~word;
        if (complement >= 0 && complement < QUARTER) {
            return upper(word) - (complement < FINE ? 1.4f : 0.25f);
        }
        float u = (word >>> 8) * 0x1p-24f;
        float chord = 8.5f * u - 3.14f;
        float tangent = 2.885f * u - 1.077f;
        return Math.min(chord, tangent);
    }
}
