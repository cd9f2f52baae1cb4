package io.millrace.engine.checkpoint;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// What `quantization_config` of a compressed-tensors checkpoint says about integer weights: int8 with
/// a scale per output, int4 with a scale per group of inputs, or both; activations int8, one scale per
/// token, computed as they come.
///
/// @param int8       whether int8 weights may be there (format `int-quantized`)
/// @param int4Group  inputs that share a scale in int4 weights (format `pack-quantized`), null for none
public record IntegerScheme(boolean int8, @Nullable Integer int4Group) {

    /// Inputs that share a scale in int4 weights, empty if there are none.
    public Optional<Integer> int4() {
        return Optional.ofNullable(int4Group);
    }
}
