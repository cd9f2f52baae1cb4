package io.millrace.engine.quantize;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import io.millrace.kernels.ExpertGating;
import io.millrace.kernels.MoeWeights;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// Which experts the rows of a batch are given to, as the operator chooses them.
final class ExpertChoice {
    private ExpertChoice() {}

    /// @param scores  products with the gate, `[rows, experts]`
    /// @return `[rows][experts]`
    static boolean[][] of(MoeWeights weights, MemorySegment scores, int rows) {
        ExpertGating gating = weights.gating();
        int experts = gating.experts();
        int size = experts / gating.groups();
        boolean[][] chosen = new boolean[rows][];
        for (int row = 0; row < rows; row++) {
            float[] biased = new float[experts];
            for (int e = 0; e < experts; e++) {
                double z = scores.getAtIndex(JAVA_FLOAT, (long) row * experts + e);
                biased[e] = (float) (1 / (1 + Math.exp(-z)))
                        + weights.correctionBias().getAtIndex(JAVA_FLOAT, e);
            }
            float[] groups = new float[gating.groups()];
            for (int g = 0; g < groups.length; g++) {
                float[] group = Arrays.copyOfRange(biased, g * size, (g + 1) * size);
                Arrays.sort(group);
                groups[g] = size == 1 ? group[0] : group[size - 1] + group[size - 2];
            }
            boolean[] kept = best(groups, gating.topKGroups());
            for (int e = 0; e < experts; e++) {
                biased[e] = kept[e / size] ? biased[e] : Float.NEGATIVE_INFINITY;
            }
            chosen[row] = best(biased, gating.topK());
        }
        return chosen;
    }

    /// The `count` largest, the first of equals.
    private static boolean[] best(float[] values, int count) {
        boolean[] chosen = new boolean[values.length];
        for (int n = 0; n < count; n++) {
            int best = -1;
            for (int i = 0; i < values.length; i++) {
                if (!chosen[i] && (best < 0 || values[i] > values[best])) {
                    best = i;
                }
            }
            chosen[best] = true;
        }
        return chosen;
    }
}
