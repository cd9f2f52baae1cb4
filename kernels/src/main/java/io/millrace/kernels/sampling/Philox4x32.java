package io.millrace.kernels.sampling;

/// Philox-4x32 with 10 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a
/// keyed bijection of 128-bit counters whose outputs pass as random. Millrace's counter words are, in
/// order: token position, purpose, choice index, block of four; its key is the seed, low word first.
public final class Philox4x32 {
    /// Purpose word: the Gumbel noise of a token draw. Block `b` serves the token ids `4b..4b+3`.
    public static final int TOKEN_NOISE = 0;

    /// Constants of the rounds, as the authors give them.
    public static final long MULTIPLIER_0 = 0xD2511F53L;
    public static final long MULTIPLIER_1 = 0xCD9E8D57L;
    public static final int WEYL_0 = 0x9E3779B9;
    public static final int WEYL_1 = 0xBB67AE85;
    public static final int ROUNDS = 10;

    private Philox4x32() {}

    /// Encrypts a counter.
    ///
    /// @param words  in: the four counter words; out: the four random words
    /// @param key0   low word of the key
    /// @param key1   high word of the key
    public static void apply(int[] words, int key0, int key1) {
        int w0 = words[0];
        int w1 = words[1];
        int w2 = words[2];
        int w3 = words[3];
        int k0 = key0;
        int k1 = key1;
        for (int round = 0; round < ROUNDS; round++) {
            long product0 = MULTIPLIER_0 * (w0 & 0xffffffffL);
            long product1 = MULTIPLIER_1 * (w2 & 0xffffffffL);
            w0 = (int) (product1 >>> 32) ^ w1 ^ k0;
            w1 = (int) product1;
            w2 = (int) (product0 >>> 32) ^ w3 ^ k1;
            w3 = (int) product0;
            k0 += WEYL_0;
            k1 += WEYL_1;
        }
        words[0] = w0;
        words[1] = w1;
        words[2] = w2;
        words[3] = w3;
    }
}
