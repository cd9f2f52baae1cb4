package io.millrace.kernels.scalar;

import java.util.Arrays;

/// The best entries of a list: by value descending, then by index ascending; a NaN ranks as minus infinity.
final class Ranking {
    private Ranking() {}

    /// Indices of the `count` best values, ascending by index.
    static int[] best(float[] values, int count) {
        boolean[] taken = new boolean[values.length];
        Integer[] order = new Integer[values.length];
        Arrays.setAll(order, i -> i);
        Arrays.sort(order, (a, b) -> {
            float x = rankable(values[a]);
            float y = rankable(values[b]);
            return x > y ? -1 : x < y ? 1 : Integer.compare(a, b);
        });
        for (int i = 0; i < count; i++) {
            taken[order[i]] = true;
        }
        int[] best = new int[count];
        int at = 0;
        for (int i = 0; i < values.length; i++) {
            if (taken[i]) {
                best[at++] = i;
            }
        }
        return best;
    }

    private static float rankable(float value) {
        return Float.isNaN(value) ? Float.NEGATIVE_INFINITY : value;
    }
}
