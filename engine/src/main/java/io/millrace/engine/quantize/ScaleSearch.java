package io.millrace.engine.quantize;

import io.millrace.kernels.Bfloat16;
import io.millrace.kernels.RowQuantization;
import io.millrace.kernels.WeightQuantizer;
import org.jspecify.annotations.Nullable;

/// Rounds rows of weights to integers. A scale is the one of a small grid, from the largest magnitude
/// downwards, whose rounding has the least expected output error `Σ_k m_k (w_k - ŵ_k)²`, where `m_k` is
/// the mean square of input `k` on calibration text. Without search it is the largest magnitude's.
final class ScaleSearch {
    private static final int INT4_CODE = 7;
    private static final float STEP = 0.02f;
    private static final float INT8_LEAST = 0.7f;
    private static final float INT4_LEAST = 0.5f;

    private final boolean search;

    ScaleSearch(boolean search) {
        this.search = search;
    }

    /// Rounds a row to int8 with one scale.
    ///
    /// @param moments  mean squares of the inputs, null for all alike
    /// @param codes    out
    /// @return the scale
    float int8(float[] row, float @Nullable [] moments, byte[] codes) {
        float largest = largest(row, 0, row.length);
        float best = RowQuantization.quantize(row, 0, row.length, codes);
        if (!search || best == 0) {
            return best;
        }
        double least = int8Error(row, moments, best);
        for (float part = 1 - STEP; part >= INT8_LEAST; part -= STEP) {
            float scale = RowQuantization.scale(largest * part);
            double error = int8Error(row, moments, scale);
            if (error < least) {
                least = error;
                best = scale;
            }
        }
        for (int i = 0; i < row.length; i++) {
            codes[i] = int8Code(row[i], 1 / best);
        }
        return best;
    }

    private static byte int8Code(float x, float inverse) {
        return (byte) Math.clamp((long) Math.rint(x * inverse), -RowQuantization.MAX_CODE, RowQuantization.MAX_CODE);
    }

    private static double int8Error(float[] row, float @Nullable [] moments, float scale) {
        double error = 0;
        float inverse = 1 / scale;
        for (int i = 0; i < row.length; i++) {
            double off = row[i] - int8Code(row[i], inverse) * scale;
            error += off * off * (moments == null ? 1 : moments[i]);
        }
        return error;
    }

    /// Rounds a group of a row to int4.
    ///
    /// @param codes  out, at the same indices as the row
    /// @return the scale, exact in bfloat16
    float int4(float[] row, int from, int to, float @Nullable [] moments, byte[] codes) {
        float largest = largest(row, from, to) / INT4_CODE;
        float best = rounded(largest);
        if (search && best >= RowQuantization.SMALLEST) {
            double least = int4Error(row, from, to, moments, best, codes);
            for (float part = 1 - STEP; part >= INT4_LEAST; part -= STEP) {
                float scale = rounded(largest * part);
                double error = int4Error(row, from, to, moments, scale, codes);
                if (error < least) {
                    least = error;
                    best = scale;
                }
            }
        }
        WeightQuantizer.int4Codes(row, from, to, best, codes);
        return best;
    }

    private static double int4Error(
            float[] row, int from, int to, float @Nullable [] moments, float scale, byte[] codes) {
        WeightQuantizer.int4Codes(row, from, to, scale, codes);
        double error = 0;
        for (int i = from; i < to; i++) {
            double off = row[i] - codes[i] * scale;
            error += off * off * (moments == null ? 1 : moments[i]);
        }
        return error;
    }

    private static float rounded(float scale) {
        return Bfloat16.widen(Bfloat16.round(scale));
    }

    private static float largest(float[] row, int from, int to) {
        float largest = 0;
        for (int i = from; i < to; i++) {
            largest = Math.max(largest, Math.abs(row[i]));
        }
        return largest;
    }
}
