package io.millrace.engine.synthetic;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.millrace.engine.pack.MatrixSpec;
import io.millrace.engine.pack.VectorSpec;
import io.millrace.engine.pack.WeightTensors;
import io.millrace.kernels.Bfloat16;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.QuantizedMatrix;
import io.millrace.kernels.ScaleAxis;
import io.millrace.kernels.WeightSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/// Random weights, each tensor a function of a seed and its name. Weights are evenly distributed around
/// 0 with variance `1 / inputs`, so a product of rows of size 1 is of size 1 again; what flows back into
/// the residual stream is weaker by the root of twice the layers, so that the stream stays of size 1.
/// Gains are 1, biases 0. Integer formats get random codes directly, with scales that vary a little.
final class RandomTensors implements WeightTensors {
    /// Format of what is packed as its source has it.
    static final QuantFormat STORED = QuantFormat.BF16;

    private static final int ALIGNMENT = 64;
    private static final int BYTE_LEVELS = 255;
    private static final int MAX_INT8 = 127;
    private static final int INT4_LEVELS = 16;
    private static final int INT4_OFFSET = 8;
    private static final String GENERATOR = "millrace-synthetic-1";

    private final long seed;
    private final int layers;

    /// @param layers  of the model, the multi-token-prediction layer included
    RandomTensors(long seed, int layers) {
        this.seed = seed;
        this.layers = layers;
    }

    @Override
    public WeightSource matrix(MatrixSpec spec, Arena arena) {
        QuantFormat format = spec.format() == null ? STORED : spec.format();
        Draws draws = new Draws(seed, spec.name());
        return switch (format) {
            case F32, BF16 -> floats(spec, format, draws, arena);
            case W8A8 -> codes(spec, format, spec.columns(), draws, arena);
            case W4A8 -> codes(spec, format, spec.int4Group(), draws, arena);
        };
    }

    // Standard deviation of a weight.
    private double deviation(MatrixSpec spec) {
        return switch (spec.role()) {
            case EMBEDDING -> 1;
            case ROUTED_EXPERT, SHARED_EXPERT, DENSE_MLP, ATTENTION -> {
                boolean toResidual =
                        spec.name().endsWith("down_proj.weight") || spec.name().endsWith("o_proj.weight");
                yield (toResidual ? Math.sqrt(1.0 / (2 * layers)) : 1) / Math.sqrt(spec.columns());
            }
            case HEAD, ROUTER_GATE, KEY_VALUE_UP, INDEXER, INDEXER_HEAD_WEIGHTS, MTP_PROJECTION ->
                1 / Math.sqrt(spec.columns());
        };
    }

    private MatrixView floats(MatrixSpec spec, QuantFormat format, Draws draws, Arena arena) {
        int columns = spec.columns();
        // Even over a width of 1 the variance is 1/12.
        float spread = (float) (deviation(spec) * Math.sqrt(12));
        MemorySegment data = arena.allocate((long) spec.rows() * columns * format.elementBytes(), ALIGNMENT);
        float[] row = new float[columns];
        short[] rounded = new short[columns];
        for (int r = 0; r < spec.rows(); r++) {
            for (int c = 0; c < columns; c++) {
                row[c] = (draws.unit() - 0.5f) * spread;
                rounded[c] = Bfloat16.round(row[c]);
            }
            if (format == QuantFormat.F32) {
                MemorySegment.copy(row, 0, data, JAVA_FLOAT, (long) r * columns * Float.BYTES, columns);
            } else {
                MemorySegment.copy(rounded, 0, data, JAVA_SHORT, (long) r * columns * Short.BYTES, columns);
            }
        }
        return MatrixView.rowMajor(format, data, spec.rows(), columns);
    }

    private QuantizedMatrix codes(MatrixSpec spec, QuantFormat format, int group, Draws draws, Arena arena) {
        boolean bytes = format == QuantFormat.W8A8;
        int levels = bytes ? BYTE_LEVELS : INT4_LEVELS;
        int lowest = bytes ? -MAX_INT8 : -INT4_OFFSET;
        int columns = spec.columns();
        int groups = Math.ceilDiv(columns, group);
        MemorySegment codes = arena.allocate((long) spec.rows() * columns, ALIGNMENT);
        MemorySegment scales = arena.allocate((long) spec.rows() * groups * Float.BYTES, Float.BYTES);
        // Evenly distributed levels have the variance (levels² - 1) / 12.
        double scale = deviation(spec) / Math.sqrt(((double) levels * levels - 1) / 12);
        byte[] row = new byte[columns];
        for (int r = 0; r < spec.rows(); r++) {
            for (int c = 0; c < columns; c++) {
                row[c] = (byte) (lowest + draws.below(levels));
            }
            MemorySegment.copy(row, 0, codes, JAVA_BYTE, (long) r * columns, columns);
            for (int g = 0; g < groups; g++) {
                float jittered = (float) (scale * (0.75 + 0.5 * draws.unit()));
                float stored = bytes ? jittered : Bfloat16.widen(Bfloat16.round(jittered));
                scales.setAtIndex(JAVA_FLOAT, (long) r * groups + g, stored);
            }
        }
        return new QuantizedMatrix(format, spec.rows(), columns, group, ScaleAxis.OUTPUT, codes, columns, 1, scales);
    }

    @Override
    public MemorySegment vector(VectorSpec spec, Arena arena) {
        MemorySegment values = arena.allocate((long) spec.size() * Float.BYTES, ALIGNMENT);
        boolean bias = spec.name().endsWith("bias");
        for (int i = 0; i < spec.size(); i++) {
            values.setAtIndex(JAVA_FLOAT, i, bias ? 0 : 1);
        }
        return values;
    }

    /// Names generator, seed and depth: with the configuration, which is a part of every identity of its
    /// own, they decide every weight.
    @Override
    public byte[] digest() {
        try {
            return MessageDigest.getInstance("SHA-256")
                    .digest((GENERATOR + ";seed=" + seed + ";layers=" + layers).getBytes(StandardCharsets.UTF_8));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    /// SplitMix64, seeded by a tensor's name, four draws of 16 bits a step.
    private static final class Draws {
        private static final long STEP = 0x9e3779b97f4a7c15L;
        private static final int DRAW_BITS = 16;

        private long state;
        private long bits;
        private int left;

        Draws(long seed, String name) {
            state = seed;
            for (int i = 0; i < name.length(); i++) {
                state = mixed(state + STEP * (name.charAt(i) + 1));
            }
        }

        private static long mixed(long z) {
            z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
            z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
            return z ^ (z >>> 31);
        }

        private int draw() {
            if (left == 0) {
                state += STEP;
                bits = mixed(state);
                left = Long.SIZE / DRAW_BITS;
            }
            int drawn = (int) bits & 0xffff;
            bits >>>= DRAW_BITS;
            left--;
            return drawn;
        }

        /// In `[0, bound)`.
        int below(int bound) {
            return (draw() * bound) >>> DRAW_BITS;
        }

        /// In `(0, 1)`.
        float unit() {
            return (draw() + 0.5f) / (1 << DRAW_BITS);
        }
    }
}
