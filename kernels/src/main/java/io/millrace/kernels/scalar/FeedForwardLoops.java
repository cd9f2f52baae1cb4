package io.millrace.kernels.scalar;

import io.millrace.kernels.ExpertGating;
import io.millrace.kernels.GatedMlpWeights;
import io.millrace.kernels.Hadamard;
import io.millrace.kernels.MoeWeights;
import java.util.Arrays;

/// Dense and mixture-of-experts feed-forwards, one row after the other.
final class FeedForwardLoops {
    private FeedForwardLoops() {}

    static float[] mlp(GatedMlpWeights weights, float[] x) {
        float[] gate = Elements.product(weights.gate(), x, 0);
        float[] up = Elements.product(weights.up(), x, 0);
        for (int i = 0; i < gate.length; i++) {
            gate[i] = Activations.swiglu(gate[i], up[i]);
        }
        Hadamard.rotate(gate, 0, gate.length, weights.rotation());
        return Elements.product(weights.down(), gate, 0);
    }

    static float[] moe(MoeWeights weights, float[] x) {
        ExpertGating gating = weights.gating();
        float[] scores = Elements.product(weights.gate(), x, 0);
        float[] biased = new float[scores.length];
        for (int e = 0; e < scores.length; e++) {
            scores[e] = (float) Activations.sigmoid(scores[e]);
            biased[e] = scores[e] + Elements.get(weights.correctionBias(), e);
        }
        int[] chosen = choose(gating, biased);
        double sum = 0;
        for (int e : chosen) {
            sum += scores[e];
        }
        double factor = gating.normalised() ? gating.scale() / (sum + 1e-20) : gating.scale();
        double[] total = new double[x.length];
        for (int e : chosen) {
            float[] out = mlp(weights.experts().get(e), x);
            for (int i = 0; i < total.length; i++) {
                total[i] += scores[e] * factor * out[i];
            }
        }
        float[] shared = mlp(weights.shared(), x);
        for (int i = 0; i < shared.length; i++) {
            shared[i] = (float) (total[i] + shared[i]);
        }
        return shared;
    }

    /// The chosen experts, ascending.
    static int[] choose(ExpertGating gating, float[] biased) {
        int size = gating.experts() / gating.groups();
        float[] groupScores = new float[gating.groups()];
        for (int g = 0; g < groupScores.length; g++) {
            float[] group = Arrays.copyOfRange(biased, g * size, (g + 1) * size);
            Arrays.sort(group);
            groupScores[g] = size == 1 ? group[0] : group[size - 1] + group[size - 2];
        }
        float[] kept = new float[biased.length];
        Arrays.fill(kept, Float.NEGATIVE_INFINITY);
        for (int g : Ranking.best(groupScores, gating.topKGroups())) {
            System.arraycopy(biased, g * size, kept, g * size, size);
        }
        return Ranking.best(kept, gating.topK());
    }
}
