package io.millrace.engine.pack;

import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.MlaForm;
import java.nio.file.Path;

/// Weights that a model wants, packed.
///
/// @param folder   the model's folder
/// @param profile  number formats
/// @param form     form of attention, which decides the half of W_UK that the plan asks for
/// @param plan     what the model will ask for
/// @param kernels  that pack and will use them
/// @param threads  that pack
public record PackRequest(
        Path folder, WeightProfile profile, MlaForm form, PackPlan plan, Kernels kernels, int threads) {
    public PackRequest {
        if (threads < 1) {
            throw new IllegalArgumentException("packing threads: " + threads + " (expected: at least 1)");
        }
    }

    PackIdentity identity(String config, String source) {
        return new PackIdentity(config, source, profile, form, PackLayouts.of(kernels, plan.formats()));
    }
}
