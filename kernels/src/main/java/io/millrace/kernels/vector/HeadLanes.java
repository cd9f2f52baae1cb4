package io.millrace.kernels.vector;

/// The layout that puts heads into lanes, `[heads / lanes][dim][lanes]`, padded with zeros to whole vectors: to the
/// products, heads are the outputs of a packed matrix.
final class HeadLanes {
    private HeadLanes() {}

    /// Lays out `[heads, dim]`.
    static void spread(long from, int heads, int dim, long to) {
        for (int first = 0; first < heads; first += Lanes.COUNT) {
            long panel = to + (long) first * dim * 4;
            int count = Math.min(Lanes.COUNT, heads - first);
            if (count < Lanes.COUNT) {
                Lanes.clear(panel, (long) dim * Lanes.BYTES);
            }
            for (int h = 0; h < count; h++) {
                long head = from + (long) (first + h) * dim * 4;
                for (int d = 0; d < dim; d++) {
                    Lanes.set(panel + (long) d * Lanes.BYTES + h * 4L, Lanes.get(head + d * 4L));
                }
            }
        }
    }
}
