package io.millrace.kernels.vector;

import io.millrace.kernels.QuantFormat;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/// The hot kernels on operands of zeros that fit the first cache, for [SelfCheck]. The floors are a fifth
/// of what each reached on a machine of 512-bit vectors, far above what is left when vectors are boxed.
final class KernelProbes implements AutoCloseable {
    private static final int DEPTH = 32;
    private static final int PANELS = 4;
    private static final int ROWS = 4;
    private static final int GROUP = DEPTH / 2;
    private static final long WEIGHT_BYTES = (long) PANELS * DEPTH * Lanes.BYTES;
    private static final long ROW_BYTES = 2L * DEPTH * Float.BYTES;

    private final Arena arena = Arena.ofConfined();
    private final long weights;
    private final long x;
    private final long y;

    KernelProbes() {
        MemorySegment memory =
                arena.allocate(WEIGHT_BYTES + ROWS * ROW_BYTES + (long) DEPTH * PANELS * Lanes.BYTES, 64);
        weights = memory.address();
        x = weights + WEIGHT_BYTES;
        y = x + ROWS * ROW_BYTES;
    }

    /// The kernels that weights of some formats need: floats always, for attention.
    List<SelfCheck.Probe> of(Set<QuantFormat> formats) {
        List<SelfCheck.Probe> probes = new ArrayList<>();
        if (formats.contains(QuantFormat.BF16)) {
            probes.add(product("bf16-one-row", 0.2, floats(QuantFormat.BF16, 1)));
            probes.add(product("bf16-rows", 0.4, floats(QuantFormat.BF16, ROWS)));
        }
        probes.add(product("f32-one-row", 0.3, floats(QuantFormat.F32, 1)));
        probes.add(product("f32-rows", 0.5, floats(QuantFormat.F32, ROWS)));
        probes.add(product("strided-rows", 0.35, strided()));
        int elements = ROWS * DEPTH;
        probes.add(probe("exponential", 0.02, elements, () -> Exponential.sigmoid(x, elements)));
        long panel = (long) DEPTH * Lanes.COUNT;
        if (formats.contains(QuantFormat.W8A8)) {
            Product p = integers(QuantFormat.W8A8);
            probes.add(probe("int8-one-row", 0.25, 2 * panel, () -> ByteTiles.oneRow(p, 0, 0, 0, y)));
            probes.add(probe("int8-rows", 0.2, panel, () -> ByteTiles.widen(p, 0, 0, y)));
        }
        if (formats.contains(QuantFormat.W4A8)) {
            Product p = integers(QuantFormat.W4A8);
            probes.add(probe("int4-one-row", 0.12, panel, () -> NibbleTiles.oneRow(p, 0, 0)));
            probes.add(probe("int4-rows", 0.12, panel / 2, () -> NibbleTiles.widen(p, 0, 0, y)));
        }
        return probes;
    }

    private static SelfCheck.Probe probe(String kernel, double factor, long multiplyAdds, Runnable work) {
        return new SelfCheck.Probe(kernel, factor, multiplyAdds, work);
    }

    private static SelfCheck.Probe product(String kernel, double factor, Product p) {
        return probe(kernel, factor, (long) p.rows * p.depth * p.outputs, p::compute);
    }

    private Product floats(QuantFormat format, int rows) {
        Product p = new Product();
        p.format = format;
        p.depth = DEPTH;
        p.outputs = PANELS * Lanes.COUNT;
        p.w = weights;
        p.wStep = Lanes.BYTES;
        p.wPanel = (long) DEPTH * Lanes.BYTES;
        p.rows(x, ROW_BYTES, rows);
        p.into(y, (long) PANELS * Lanes.BYTES);
        return p;
    }

    private Product strided() {
        Product p = floats(QuantFormat.F32, ROWS);
        p.wStep = (long) PANELS * Lanes.BYTES;
        p.wPanel = Lanes.BYTES;
        p.xRow = Float.BYTES;
        p.xStep = (long) ROWS * Float.BYTES;
        return p;
    }

    private Product integers(QuantFormat format) {
        Product p = floats(format, 1);
        p.outputs = 2 * Lanes.COUNT;
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
