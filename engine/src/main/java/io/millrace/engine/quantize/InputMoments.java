package io.millrace.engine.quantize;

import org.jspecify.annotations.Nullable;

/// What is known of the inputs of weight matrices.
interface InputMoments {
    /// Knows nothing.
    InputMoments UNKNOWN = name -> null;

    /// Mean squares of the inputs of a matrix, in the folded model's space; null if none were seen.
    float @Nullable [] of(String matrix);
}
