package io.millrace.engine.quantize;

import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.kernels.MatrixView;
import java.lang.foreign.Arena;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/// Scales of the inner channels of feed-forwards: channel `k` is divided by `s_k` in `up_proj` and
/// multiplied by it in `down_proj`, which changes nothing but what rounding costs.
///
/// Channels that are large and read by small weights, or the other way round, are what makes rounding
/// costly there: unrotated, large channels take the int8 steps from the small ones; rotated, their energy
/// meets the rounding errors of all weights. With `s_k = sqrt(|u_k| / |d_k|)`, where `u_k` is the row of
/// `up_proj` (with the norm's gain before it) and `d_k` the column of `down_proj`, both sides are equally
/// large in every channel, and the product of their energies is the least it can be (as in Nagel et al.,
/// arXiv 1906.04721). Thread-safe.
final class InnerScales {
    private static final double MOST = 1 << 16;

    private final Checkpoint checkpoint;
    private final Map<String, float[]> scales = new ConcurrentHashMap<>();

    InnerScales(Checkpoint checkpoint) {
        this.checkpoint = checkpoint;
    }

    /// Scales of a feed-forward's channels.
    ///
    /// @param prefix  of its tensors, e.g. `model.layers.3.mlp.experts.5.`
    /// @param gains   of the norm before it
    float[] of(String prefix, float[] gains) {
        return scales.computeIfAbsent(prefix, name -> compute(name, gains)).clone();
    }

    private float[] compute(String prefix, float[] gains) {
        try (Arena arena = Arena.ofShared()) {
            double[] written = rowEnergies(checkpoint.matrix(prefix + "up_proj.weight", arena), gains);
            double[] read = columnEnergies(checkpoint.matrix(prefix + "down_proj.weight", arena));
            float[] result = new float[written.length];
            for (int i = 0; i < result.length; i++) {
                double scale = Math.sqrt(Math.sqrt(written[i] / read[i]));
                // A channel that is never written or never read stays as it is.
                result[i] = scale >= 1 / MOST && scale <= MOST ? (float) scale : 1;
            }
            return result;
        }
    }

    private static double[] rowEnergies(MatrixView matrix, float[] gains) {
        double[] energies = new double[matrix.rows()];
        float[] row = new float[matrix.columns()];
        for (int r = 0; r < energies.length; r++) {
            matrix.copyRow(r, row);
            for (int i = 0; i < row.length; i++) {
                double value = (double) row[i] * gains[i];
                energies[r] += value * value;
            }
        }
        return energies;
    }

    private static double[] columnEnergies(MatrixView matrix) {
        double[] energies = new double[matrix.columns()];
        float[] row = new float[matrix.columns()];
        for (int r = 0; r < matrix.rows(); r++) {
            matrix.copyRow(r, row);
            for (int i = 0; i < row.length; i++) {
                energies[i] += (double) row[i] * row[i];
            }
        }
        return energies;
    }
}
