package io.millrace.engine.pack;

import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.MlaForm;
import java.io.IOException;
import java.nio.file.Path;

/// Sound packs without a matrix.
final class SamplePack {
    private SamplePack() {}

    /// Writes one.
    ///
    /// @param source  the recorded folder of the model
    static Path write(Path file, String source) throws IOException {
        try (PackWriter writer = PackWriter.create(file)) {
            writer.finish(new PackIdentity("c", "s", WeightProfile.W8A8, MlaForm.NAIVE, "l"), "d", source);
        }
        return file;
    }
}
