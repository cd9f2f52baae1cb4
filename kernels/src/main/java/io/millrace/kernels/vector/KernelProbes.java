package io.millrace.kernels.vector;

import io.millrace.kernels.KvFormat;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.RopeStyle;
import io.millrace.kernels.sampling.SamplingBatch;
import io.millrace.kernels.sampling.SamplingSlices;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/// The hot loops of every operator on operands of zeros that fit the first cache, for [SelfCheck]. The floors are about
/// a third of what each reached on a machine of 512-bit vectors: a loop that is eight times too slow is below its floor
/// even on a processor that is twice as good at it, and one as fast as it should be is above it on one half as good.
/// Two that load and store more than they multiply have higher ones: beside the reference, a processor that makes one
/// multiply-add of 512 bits a cycle is more than twice as good at them.
/// A run is long enough for the calls that lead to a loop, which are not yet compiled, not to count.
final class KernelProbes implements AutoCloseable {
    private static final int DEPTH = 64;
    private static final int PANELS = 4;
    private static final int ROWS = 4;
    private static final int MORE_ROWS = 8;
    private static final int FOLDED_ROWS = 64;
    private static final int GROUP = DEPTH / 2;
    private static final int ELEMENTS = 1024;
    private static final long AREA_BYTES = 16_384;
    private static final long ROW_BYTES = (long) DEPTH * Float.BYTES;
    private static final float FACTOR = 0.5f;

    private final Arena arena = Arena.ofConfined();
    private final List<SelfCheck.Probe> probes = new ArrayList<>();
    private final long weights;
    private final long x;
    private final long y;

    /// Takes results that nothing else would use.
    private float sink;

    KernelProbes() {
        weights = arena.allocate(3 * AREA_BYTES, 64).address();
        x = weights + AREA_BYTES;
        y = x + AREA_BYTES;
    }

    /// Address of a vector that may be overwritten.
    long scratch() {
        return y;
    }

    /// The kernels that weights of some formats need: floats always, for attention.
    List<SelfCheck.Probe> of(Set<QuantFormat> formats) {
        probes.clear();
        if (formats.contains(QuantFormat.BF16)) {
            product("bf16-one-row", 0.14, floats(QuantFormat.BF16, 1, PANELS));
            product("bf16-rows", 0.27, floats(QuantFormat.BF16, ROWS, PANELS));
        }
        product("f32-one-row", 0.15, floats(QuantFormat.F32, 1, PANELS));
        product("f32-rows", 0.27, floats(QuantFormat.F32, ROWS, PANELS));
        product("f32-eight-rows", 0.22, floats(QuantFormat.F32, MORE_ROWS, 1));
        product("strided-one-row", 0.14, strided(1));
        product("strided-rows", 0.25, strided(ROWS));
        if (formats.contains(QuantFormat.W8A8)) {
            bytes();
        }
        if (formats.contains(QuantFormat.W4A8)) {
            nibbles();
        }
        if (formats.contains(QuantFormat.W8A8) || formats.contains(QuantFormat.W4A8)) {
            rounding();
        }
        rows();
        cache();
        sampling();
        return List.copyOf(probes);
    }

    private void bytes() {
        Product p = integers(QuantFormat.W8A8);
        Product folded = integers(QuantFormat.W8A8);
        folded.rows(x, Lanes.BYTES, FOLDED_ROWS);
        Product sums = sums();
        long panel = (long) DEPTH * Lanes.COUNT;
        probe("int8-one-row", 0.11, 2 * panel, () -> ByteTiles.oneRow(p, 0, 0, 0, y));
        probe("int8-rows", 0.08, panel, () -> ByteTiles.widen(p, 0, 0, y));
        probe("int8-fold", 0.03, FOLDED_ROWS * (long) Lanes.COUNT, () -> ByteTiles.fold(folded, 0, 0, 0, sums));
    }

    private void nibbles() {
        Product p = integers(QuantFormat.W4A8);
        Product folded = integers(QuantFormat.W4A8);
        folded.rows(x, Lanes.BYTES, FOLDED_ROWS);
        Product sums = sums();
        long panel = (long) DEPTH * Lanes.COUNT;
        probe("int4-one-row", 0.06, panel, () -> NibbleTiles.oneRow(p, 0, 0));
        probe("int4-rows", 0.06, panel / 2, () -> NibbleTiles.widen(p, 0, 0, y));
        probe("int4-fold", 0.035, FOLDED_ROWS * (long) Lanes.COUNT, () -> NibbleTiles.fold(folded, 0, 0, 0, sums));
    }

    /// Activations beside integer weights.
    private void rounding() {
        elements("rounding-largest", 0.01, () -> sink = RoundedRows.largest(x, ELEMENTS));
        elements("rounding-codes", 0.05, () -> RoundedRows.codes(x, FACTOR, ELEMENTS, y));
        elements("rotation", 0.01, () -> Rotation.rotate(x, ELEMENTS, 256));
    }

    private void rows() {
        elements("sigmoid", 0.009, () -> Exponential.sigmoid(y, ELEMENTS));
        elements("swiglu", 0.008, () -> Exponential.swiglu(x, weights, ELEMENTS));
        elements("rms-norm", 0.02, () -> RowMath.rmsNorm(x, weights, ELEMENTS, 1, y));
        elements("accumulate", 0.05, () -> RowMath.accumulate(x, FACTOR, y, ELEMENTS));
        elements("rescale", 0.05, () -> RowMath.rescale(y, FACTOR, x, ELEMENTS));
        elements("rope", 0.06, () -> RowMath.rotate(x, RopeStyle.INTERLEAVED, ELEMENTS, weights, weights));
        probe(
                "softmax",
                0.005,
                (long) DEPTH * Lanes.COUNT,
                () -> SoftmaxTile.weigh(x, Lanes.BYTES, FACTOR, DEPTH, weights, y));
        probe(
                "indexer",
                0.028,
                (long) DEPTH * 2 * Lanes.COUNT,
                () -> IndexerRows.Worker.weigh(x, weights, 2 * Lanes.COUNT, DEPTH, y));
    }

    private void cache() {
        elements("bf16-read", 0.06, () -> RowMath.read(KvFormat.BF16, x, ELEMENTS, y));
        elements("bf16-write", 0.045, () -> RowMath.writeBfloat16(x, ELEMENTS, y));
        elements("int8-read", 0.08, () -> CodeRows.codes(x, ELEMENTS, y));
    }

    private void sampling() {
        SamplingBatch batch =
                new SamplingBatch(1, SamplingSlices.BLOCK).add(1, 1).withNoise(1, 0, 0);
        elements("logit-blocks", 0.028, this::largestOfBlocks);
        elements("logit-scales", 0.04, () -> SliceLoops.scale(x, ELEMENTS, 1, FACTOR, y));
        elements("logit-exponentials", 0.012, () -> SliceLoops.exponentials(y, ELEMENTS));
        elements("logit-sums", 0.18, () -> SliceLoops.sumBlocks(x, ELEMENTS, y));
        elements("noise-words", 0.007, () -> NoiseWords.fill(batch, 0, 0, ELEMENTS, y));
        elements("noise-bounds", 0.038, this::addNoiseToBlocks);
    }

    private void largestOfBlocks() {
        for (int i = 0; i < ELEMENTS; i += SamplingSlices.BLOCK) {
            sink += SliceLoops.largest(x + i * 4L, SamplingSlices.BLOCK);
        }
    }

    private void addNoiseToBlocks() {
        for (int i = 0; i < ELEMENTS; i += SamplingSlices.BLOCK) {
            SliceLoops.addUpperNoise(x + i * 4L, weights + i * 4L, y + i * 4L);
        }
    }

    private void probe(String kernel, double share, long items, Runnable work) {
        probes.add(new SelfCheck.Probe(kernel, share, items, work));
    }

    private void elements(String kernel, double share, Runnable work) {
        probe(kernel, share, ELEMENTS, work);
    }

    private void product(String kernel, double share, Product p) {
        probe(kernel, share, (long) p.rows * p.depth * p.outputs, p::compute);
    }

    private Product floats(QuantFormat format, int rows, int panels) {
        Product p = new Product();
        p.format = format;
        p.depth = DEPTH;
        p.outputs = panels * Lanes.COUNT;
        p.w = weights;
        p.wStep = Lanes.BYTES;
        p.wPanel = (long) DEPTH * Lanes.BYTES;
        p.rows(x, ROW_BYTES, rows);
        p.into(y, (long) PANELS * Lanes.BYTES);
        return p;
    }

    private Product strided(int rows) {
        Product p = floats(QuantFormat.F32, rows, PANELS);
        p.wStep = (long) PANELS * Lanes.BYTES;
        p.wPanel = Lanes.BYTES;
        p.xRow = Float.BYTES;
        p.xStep = (long) ROWS * Float.BYTES;
        return p;
    }

    private Product sums() {
        Product p = floats(QuantFormat.F32, FOLDED_ROWS, 1);
        p.into(weights, Lanes.BYTES);
        return p;
    }

    private Product integers(QuantFormat format) {
        Product p = floats(format, 1, 2);
        p.block = format == QuantFormat.W4A8 ? GROUP : RoundedRows.BLOCK;
        p.wPanel = DEPTH * 16L;
        // Scales and corrections may lie anywhere: all is zero.
        p.scales = 0;
        p.xCorrections = 0;
        return p;
    }

    @Override
    public void close() {
        arena.close();
    }
}
