package io.millrace.kernels.vector;

import jdk.incubator.vector.FloatVector;

/// Online softmax attention of a group of heads that share keys and values, tile by tile. One instance per worker.
///
/// With the heads in lanes, maximum, exponential and sum need no operation across lanes, and both products are register
/// tiles: scores `[keys, heads] = K q` by [FloatTiles], values `[heads, width] = pᵀ V` by [StridedTiles]. The state of
/// a run of tiles is, per head, the maximum m, the sum of weights l and the weighted sum of values; a later tile or run
/// rescales it. A weight more than 87 below the maximum so far is exactly 0.
final class SoftmaxTile {
    private final Product scoreProduct = new Product();
    private final Product valueProduct = new Product();
    private final Scratch.Buffer scoreBuffer;
    private final Scratch.Buffer valueBuffer;

    SoftmaxTile(Scratch scratch) {
        scoreBuffer = scratch.buffer();
        valueBuffer = scratch.buffer();
    }

    /// Keys and values of a tile: float rows at `keys`, `keyRow` bytes apart; values likewise.
    record Rows(long keys, long keyRow, int keyDim, long values, long valueRow, int valueWidth) {}

    /// Floats of the state of `heads` heads with values of `width` elements.
    static long stateFloats(int heads, int width) {
        return 2L * Lanes.padded(heads) + (long) heads * Lanes.padded(width);
    }

    /// Empties a state.
    static void clear(long state, int heads, int width) {
        int lanes = Lanes.padded(heads);
        for (int h = 0; h < lanes; h += Lanes.COUNT) {
            Lanes.store(Lanes.broadcast(Float.NEGATIVE_INFINITY), state + h * 4L);
        }
        Lanes.clear(state + lanes * 4L, (stateFloats(heads, width) - lanes) * 4);
    }

    /// Makes room for tiles of up to [AttentionRuns#TILE] keys.
    void reserve(int heads, int valueWidth) {
        scoreBuffer.reserve((AttentionRuns.TILE + 1L) * Lanes.padded(heads));
        valueBuffer.reserve((long) heads * Lanes.padded(valueWidth));
    }

    /// Adds a tile to a state.
    ///
    /// @param query   queries as [HeadLanes] lays them out
    /// @param heads   number of heads
    /// @param scale   factor of the scores
    /// @param tile    keys and values
    /// @param count   keys of the tile
    /// @param state   the state
    void add(long query, int heads, float scale, Rows tile, int count, long state) {
        int lanes = Lanes.padded(heads);
        int width = Lanes.padded(tile.valueWidth);
        long scores = scoreBuffer.floats((long) count * lanes + lanes);
        long factors = scores + (long) count * lanes * 4;
        long sums = valueBuffer.floats((long) heads * width);
        Product s = scoreProduct;
        s.depth = tile.keyDim;
        s.outputs = lanes;
        s.w = query;
        s.wStep = Lanes.BYTES;
        s.wPanel = (long) tile.keyDim * Lanes.BYTES;
        s.rows(tile.keys, tile.keyRow, count);
        s.into(scores, lanes * 4L);
        s.compute();
        for (int h = 0; h < lanes; h += Lanes.COUNT) {
            weigh(scores + h * 4L, lanes * 4L, scale, count, state + h * 4L, factors + h * 4L);
        }
        Product v = valueProduct;
        v.depth = count;
        v.outputs = tile.valueWidth;
        v.w = tile.values;
        v.wStep = tile.valueRow;
        v.wPanel = Lanes.BYTES;
        v.x = scores;
        v.xRow = Float.BYTES;
        v.xStep = lanes * 4L;
        v.rows = heads;
        v.into(sums, width * 4L);
        v.compute();
        long total = state + 2L * lanes * 4;
        for (int h = 0; h < heads; h++) {
            long at = (long) h * width * 4;
            RowMath.rescale(total + at, Lanes.get(factors + h * 4L), sums + at, width);
        }
    }

    /// Turns the scores of one vector of heads into weights and updates m and l.
    static void weigh(long scores, long step, float scale, int count, long state, long factors) {
        FloatVector before = Lanes.load(state);
        FloatVector max = before;
        for (int i = 0; i < count; i++) {
            max = max.max(Lanes.load(scores + i * step).mul(scale));
        }
        FloatVector sum = Lanes.zero();
        for (int i = 0; i < count; i++) {
            long at = Lanes.base(scores + i * step);
            FloatVector weight = Exponential.exp(Lanes.load(at).mul(scale).sub(max));
            weight.intoMemorySegment(Lanes.ALL, at, Lanes.ORDER);
            sum = sum.add(weight);
        }
        // The first tile of a run has m = -infinity, and exp(-infinity) is 0.
        FloatVector factor = Exponential.exp(before.sub(max));
        long l = state + step;
        Lanes.store(Lanes.load(l).fma(factor, sum), l);
        Lanes.store(max, state);
        Lanes.store(factor, factors);
    }

    /// Adds the state of the following run of tiles.
    static void merge(long state, long next, int heads, int width) {
        int lanes = Lanes.padded(heads);
        int padded = Lanes.padded(width);
        for (int h = 0; h < lanes; h += Lanes.COUNT) {
            long a = state + h * 4L;
            long b = next + h * 4L;
            FloatVector max = Lanes.load(a).max(Lanes.load(b));
            FloatVector factor = Exponential.exp(Lanes.load(a).sub(max));
            FloatVector nextFactor = Exponential.exp(Lanes.load(b).sub(max));
            long step = lanes * 4L;
            FloatVector l = Lanes.load(b + step).mul(nextFactor);
            Lanes.store(Lanes.load(a + step).fma(factor, l), a + step);
            Lanes.store(max, a);
            // The other state's m is not needed any more and carries its factor, this one's goes to its l.
            Lanes.store(nextFactor, b);
            Lanes.store(factor, b + step);
        }
        for (int h = 0; h < heads; h++) {
            long at = (2L * lanes + (long) h * padded) * 4;
            RowMath.scale(next + at, Lanes.get(next + h * 4L), padded, next + at);
            RowMath.rescale(state + at, Lanes.get(next + (lanes + h) * 4L), next + at, padded);
        }
    }

    /// Divides the weighted sums by l and leaves `width` floats of each head at `y`, `yRow` bytes apart.
    static void finish(long state, int heads, int width, long y, long yRow) {
        int lanes = Lanes.padded(heads);
        int padded = Lanes.padded(width);
        for (int h = 0; h < heads; h++) {
            float inverse = 1 / Lanes.get(state + (lanes + h) * 4L);
            RowMath.scale(state + (2L * lanes + (long) h * padded) * 4, inverse, width, y + h * yRow);
        }
    }
}
