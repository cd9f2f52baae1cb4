package io.millrace.engine.pack;

import io.millrace.engine.profile.MatrixRole;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.QuantFormat;
import org.jspecify.annotations.Nullable;

/// A weight matrix that a model needs (`y = x Wᵀ`: rows are outputs).
///
/// @param name     the checkpoint's tensor, e.g. `model.layers.0.mlp.gate_proj.weight`
/// @param role     what it does
/// @param rows     outputs
/// @param columns  inputs
/// @param format   format it is packed in; null for whatever its source has
public record MatrixSpec(
        String name,
        MatrixRole role,
        int rows,
        int columns,
        @Nullable QuantFormat format) {
    public MatrixSpec {
        if (rows < 1 || columns < 1) {
            throw new IllegalArgumentException(
                    name + ": shape [" + rows + ", " + columns + "] (expected: both at least 1)");
        }
    }

    /// Inputs that share a scale in [QuantFormat#W4A8].
    public int int4Group() {
        return WeightProfile.INT4_GROUP;
    }
}
