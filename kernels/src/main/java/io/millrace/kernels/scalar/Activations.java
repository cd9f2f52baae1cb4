package io.millrace.kernels.scalar;

import io.millrace.kernels.RopeRows;
import io.millrace.kernels.RopeStyle;
import java.lang.foreign.MemorySegment;

/// Norms, rotations and the nonlinearities.
final class Activations {
    /// An exponential further than this below 1 counts as exactly 0: float results never become denormal.
    private static final double FLUSH = 87;

    private Activations() {}

    /// `e^x`, 0 below -87.
    static double flushedExp(double x) {
        return x < -FLUSH ? 0 : StrictMath.exp(x);
    }

    /// `1 / (1 + e^-x)`, 0 below -87.
    static double sigmoid(double x) {
        return x < -FLUSH ? 0 : 1 / (1 + flushedExp(-x));
    }

    static float swiglu(float gate, float up) {
        return (float) (gate * sigmoid(gate) * up);
    }

    static void rmsNorm(float[] x, int width, MemorySegment gain, float eps) {
        double squares = Elements.dot(x, 0, x, 0, width);
        double factor = 1 / Math.sqrt(squares / width + eps);
        for (int i = 0; i < width; i++) {
            x[i] = (float) (x[i] * factor * Elements.get(gain, i));
        }
    }

    static void layerNorm(float[] x, MemorySegment gain, MemorySegment bias, float eps) {
        double sum = 0;
        for (float value : x) {
            sum += value;
        }
        double mean = sum / x.length;
        double squares = 0;
        for (float value : x) {
            squares += (value - mean) * (value - mean);
        }
        double factor = 1 / Math.sqrt(squares / x.length + eps);
        for (int i = 0; i < x.length; i++) {
            x[i] = (float) ((x[i] - mean) * factor * Elements.get(gain, i) + Elements.get(bias, i));
        }
    }

    /// Rotates `x[from, from + ropeDim)` by the angles of a row.
    static void rotate(float[] x, int from, RopeStyle style, RopeRows rope, int row) {
        int half = rope.ropeDim() / 2;
        for (int i = 0; i < half; i++) {
            int a = switch (style) {
                case INTERLEAVED -> from + 2 * i;
                case HALF_SPLIT -> from + i;
            };
            int b = switch (style) {
                case INTERLEAVED -> a + 1;
                case HALF_SPLIT -> a + half;
            };
            double cos = Elements.get(rope.cos(), (long) row * half + i);
            double sin = Elements.get(rope.sin(), (long) row * half + i);
            double xa = x[a];
            double xb = x[b];
            x[a] = (float) (xa * cos - xb * sin);
            x[b] = (float) (xb * cos + xa * sin);
        }
    }
}
