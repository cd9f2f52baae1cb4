package io.millrace.kernels.gating;

import io.millrace.kernels.ExpertGating;
import java.util.Arrays;

/// Which experts each row goes to, and the rows of each expert: places are numbered expert by expert,
/// and within one in the order of the rows. Heap arrays that grow to the largest batch. Not
/// thread-safe.
public final class ExpertRouting {
    private int[] experts = new int[0];
    private float[] weights = new float[0];
    private int[] places = new int[0];
    private int[] rows = new int[0];
    private int[] starts = new int[0];
    private int[] fill = new int[0];
    private float[] allScores = new float[0];
    private float[] bias = new float[0];
    private float[] scores = new float[0];
    private float[] biased = new float[0];
    private float[] groupScores = new float[0];
    private boolean[] taken = new boolean[0];
    private int topK;

    /// Makes room for the scores of some rows and returns it: `[rows, experts]`, to be filled before
    /// [#route].
    public float[] scores(ExpertGating gating, int rowCount) {
        int elements = rowCount * gating.experts();
        if (allScores.length < elements) {
            allScores = new float[elements];
        }
        return allScores;
    }

    /// Makes room for the correction bias and returns it: `[experts]`, to be filled before [#route].
    public float[] bias(ExpertGating gating) {
        if (bias.length < gating.experts()) {
            bias = new float[gating.experts()];
        }
        return bias;
    }

    /// Routes all rows by their sigmoid scores.
    ///
    /// @param gating    the rule
    /// @param rowCount  rows
    public void route(ExpertGating gating, int rowCount) {
        topK = gating.topK();
        reserve(gating, rowCount);
        Arrays.fill(starts, 0, gating.experts() + 1, 0);
        for (int row = 0; row < rowCount; row++) {
            for (int e = 0; e < gating.experts(); e++) {
                scores[e] = allScores[row * gating.experts() + e];
                biased[e] = scores[e] + bias[e];
            }
            choose(gating, row);
        }
        for (int e = 0; e < gating.experts(); e++) {
            starts[e + 1] += starts[e];
            fill[e] = starts[e];
        }
        for (int pair = 0; pair < rowCount * topK; pair++) {
            int place = fill[experts[pair]]++;
            places[pair] = place;
            rows[place] = pair / topK;
        }
    }

    private void reserve(ExpertGating gating, int rowCount) {
        int pairs = rowCount * topK;
        if (experts.length < pairs) {
            experts = new int[pairs];
            weights = new float[pairs];
            places = new int[pairs];
            rows = new int[pairs];
        }
        if (scores.length < gating.experts()) {
            scores = new float[gating.experts()];
            biased = new float[gating.experts()];
            starts = new int[gating.experts() + 1];
            fill = new int[gating.experts()];
        }
        groupScores = groupScores.length < gating.groups() ? new float[gating.groups()] : groupScores;
        taken = taken.length < gating.experts() ? new boolean[gating.experts()] : taken;
    }

    private void choose(ExpertGating gating, int row) {
        if (gating.topKGroups() < gating.groups()) {
            dropGroups(gating);
        }
        take(biased, gating.experts(), topK);
        int pair = row * topK;
        float sum = 0;
        for (int e = 0; e < gating.experts(); e++) {
            if (taken[e]) {
                experts[pair] = e;
                weights[pair++] = scores[e];
                sum += scores[e];
                starts[e + 1]++;
            }
        }
        float factor = gating.normalised() ? gating.scale() / (sum + 1e-20f) : gating.scale();
        for (int i = row * topK; i < pair; i++) {
            weights[i] *= factor;
        }
    }

    private void dropGroups(ExpertGating gating) {
        int size = gating.experts() / gating.groups();
        for (int g = 0; g < gating.groups(); g++) {
            float first = Float.NEGATIVE_INFINITY;
            float second = Float.NEGATIVE_INFINITY;
            for (int e = g * size; e < (g + 1) * size; e++) {
                if (biased[e] > first) {
                    second = first;
                    first = biased[e];
                } else if (biased[e] > second) {
                    second = biased[e];
                }
            }
            groupScores[g] = size == 1 ? first : first + second;
        }
        take(groupScores, gating.groups(), gating.topKGroups());
        for (int e = 0; e < gating.experts(); e++) {
            if (!taken[e / size]) {
                biased[e] = Float.NEGATIVE_INFINITY;
            }
        }
    }

    /// Marks the `count` largest values as taken, the lower index first in a tie.
    private void take(float[] values, int total, int count) {
        Arrays.fill(taken, 0, total, false);
        for (int i = 0; i < count; i++) {
            int best = -1;
            float bestValue = Float.NEGATIVE_INFINITY;
            for (int v = 0; v < total; v++) {
                if (!taken[v] && (best < 0 || values[v] > bestValue)) {
                    best = v;
                    bestValue = Float.isNaN(values[v]) ? Float.NEGATIVE_INFINITY : values[v];
                }
            }
            taken[best] = true;
        }
    }

    /// First place of an expert's rows; the next expert's first place is their end.
    public int start(int expert) {
        return starts[expert];
    }

    /// The row at a place.
    public int row(int place) {
        return rows[place];
    }

    /// The place of the `k`-th expert of a row, in ascending order of experts.
    public int place(int row, int k) {
        return places[row * topK + k];
    }

    /// The weight of the `k`-th expert of a row.
    public float weight(int row, int k) {
        return weights[row * topK + k];
    }
}
