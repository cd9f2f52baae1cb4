package io.millrace.engine.sampling;

/// The token whose scaled logit plus noise is the largest of those offered, ties to the lower id.
final class NoisyMaximum {
    private final GumbelNoise noise;
    private double largest;
    private int winner;

    /// @param noise  of the draw, selected by the caller
    NoisyMaximum(GumbelNoise noise) {
        this.noise = noise;
    }

    /// Begins anew.
    ///
    /// @param id  a token that will be offered
    NoisyMaximum begin(int id) {
        winner = id;
        largest = Double.NEGATIVE_INFINITY;
        return this;
    }

    /// Offers a token. Its noise costs two logarithms, which most tokens are spared by the bound.
    void offer(int id, double scaledLogit) {
        int word = noise.word(id);
        if (scaledLogit + GumbelNoise.noiseBound(word) > largest) {
            double sum = scaledLogit + GumbelNoise.noise(word);
            if (sum > largest || (sum == largest && id < winner)) {
                largest = sum;
                winner = id;
            }
        }
    }

    int winner() {
        return winner;
    }
}
