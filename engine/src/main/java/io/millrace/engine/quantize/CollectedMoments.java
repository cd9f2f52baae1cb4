package io.millrace.engine.quantize;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// Mean squares of matrix inputs, summed up as a model runs. Matrices that read the same rows share one
/// sum; an expert that saw few rows leans on the mean of its layer.
final class CollectedMoments implements InputMoments {
    /// Rows that the mean of a layer's experts counts for in each expert.
    private static final double PRIOR_ROWS = 8;

    private final WeightFolds folds;
    private final Map<String, MatrixFold> foldOf = new HashMap<>();
    private final Map<String, Sum> sums = new HashMap<>();

    private static final class Sum {
        private final double[] squares;
        private double rows;

        Sum(int width) {
            this.squares = new double[width];
        }
    }

    CollectedMoments(WeightFolds folds) {
        this.folds = folds;
    }

    /// Adds inputs that a matrix of the unfolded model was given.
    ///
    /// @param matrix  its name
    /// @param x       float32 `[rows, width]`
    void add(String matrix, MemorySegment x, int rows, int width) {
        MatrixFold fold = foldOf.computeIfAbsent(matrix, folds::of);
        float[] row = new float[width];
        Sum sum = sums.computeIfAbsent(site(matrix), name -> new Sum(width));
        Sum shared = isRouted(matrix) ? sums.computeIfAbsent(layerSite(matrix), name -> new Sum(width)) : null;
        for (int r = 0; r < rows; r++) {
            MemorySegment.copy(x, ValueLayout.JAVA_FLOAT, (long) r * width * Float.BYTES, row, 0, width);
            fold.foldInput(row);
            addRow(sum, row);
            if (shared != null) {
                addRow(shared, row);
            }
        }
    }

    private static void addRow(Sum sum, float[] row) {
        for (int i = 0; i < row.length; i++) {
            sum.squares[i] += (double) row[i] * row[i];
        }
        sum.rows++;
    }

    @Override
    public float @Nullable [] of(String matrix) {
        Sum sum = sums.get(site(matrix));
        Sum shared = isRouted(matrix) ? sums.get(layerSite(matrix)) : null;
        Sum any = sum == null ? shared : sum;
        if (any == null) {
            return null;
        }
        float[] means = new float[any.squares.length];
        for (int i = 0; i < means.length; i++) {
            double squares = sum == null ? 0 : sum.squares[i];
            double rows = sum == null ? 0 : sum.rows;
            if (shared != null) {
                squares += PRIOR_ROWS * shared.squares[i] / shared.rows;
                rows += PRIOR_ROWS;
            }
            means[i] = (float) (squares / rows);
        }
        return means;
    }

    private static boolean isRouted(String matrix) {
        return matrix.contains(".mlp.experts.");
    }

    private static String layerSite(String matrix) {
        int experts = matrix.indexOf(".mlp.experts.");
        return matrix.substring(0, experts) + (matrix.endsWith("down_proj.weight") ? ":down" : ":up");
    }

    /// The matrix that stands for all that read the same rows.
    private static String site(String matrix) {
        return matrix.replace("self_attn.kv_a_proj_with_mqa.", "self_attn.q_a_proj.")
                .replace("self_attn.indexer.wk.", "self_attn.q_a_proj.")
                .replace("self_attn.indexer.wq_b.", "self_attn.q_b_proj.")
                .replace(".up_proj.", ".gate_proj.");
    }
}
