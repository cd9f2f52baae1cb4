package io.millrace.engine.sampling;

import io.millrace.kernels.sampling.Philox4x32;

/// Gumbel noise per token id: `-log(-log(u))` of a uniform u in (0, 1) made from one Philox word. Adding
/// it to log-probabilities and taking the largest draws from their distribution (the Gumbel-max trick).
final class GumbelNoise {
    private static final double TWO_32 = 4294967296.0;
    private static final double LN2 = 0.6931471805599453;
    private static final double SLACK = 1e-9;

    private final int[] words = new int[4];
    private int key0;
    private int key1;
    private int position;
    private int choice;
    private int block;

    /// Selects the draw.
    void select(long seed, int choiceIndex, int tokenPosition) {
        key0 = (int) seed;
        key1 = (int) (seed >>> 32);
        choice = choiceIndex;
        position = tokenPosition;
        block = -1;
    }

    /// The random word of a token id. Neighbouring ids share one Philox block: cheapest in ascending order.
    int word(int id) {
        if (id >>> 2 != block) {
            block = id >>> 2;
            words[0] = position;
            words[1] = Philox4x32.TOKEN_NOISE;
            words[2] = choice;
            words[3] = block;
            Philox4x32.apply(words, key0, key1);
        }
        return words[id & 3];
    }

    /// The noise a random word stands for.
    static double noise(int word) {
        double uniform = ((word & 0xffffffffL) + 0.5) / TWO_32;
        return -StrictMath.log(-StrictMath.log(uniform));
    }

    /// A number not below [#noise], without logarithms: as -log(u) ≥ 1 - u, the noise is at most -log(1 -
    /// u), and the leading ones of the word bound 1 - u from below.
    static double noiseBound(int word) {
        return (Integer.numberOfLeadingZeros(~word) + 1) * LN2 + SLACK;
    }
}
