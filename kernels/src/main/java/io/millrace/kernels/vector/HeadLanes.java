package io.millrace.kernels.vector;

/// The layout `[dim][heads]` that puts heads into lanes, padded with zeros to whole vectors.
final class HeadLanes {
    private HeadLanes() {}

    /// Transposes `[heads, dim]` to `[dim][padded heads]`.
    static void spread(long from, int heads, int dim, long to) {
        int width = Lanes.padded(heads);
        for (int d = 0; d < dim; d++) {
            long row = to + (long) d * width * 4;
            for (int h = 0; h < heads; h++) {
                Lanes.set(row + h * 4L, Lanes.get(from + ((long) h * dim + d) * 4));
            }
            for (int h = heads; h < width; h++) {
                Lanes.set(row + h * 4L, 0f);
            }
        }
    }
}
