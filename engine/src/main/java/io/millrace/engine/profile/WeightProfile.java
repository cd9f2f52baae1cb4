package io.millrace.engine.profile;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.QuantizedMatrix;
import java.util.Locale;
import java.util.Optional;

/// Decides the number format of every weight matrix. Norms and biases are float32 in all profiles.
public enum WeightProfile {
    /// As the checkpoint stores it (FP8 and F16 widened to float32); only the router gate is always
    /// float32.
    CHECKPOINT,
    /// bfloat16, rounded to nearest even; router gate and indexer head weights in float32.
    BF16,
    /// int8; router gate and indexer head weights in float32, the embedding as stored.
    W8A8,
    /// As [#W8A8], but routed experts in int4 with one scale per [#INT4_GROUP] inputs.
    W4A8;

    /// Inputs of a routed expert that share a scale in [#W4A8].
    public static final int INT4_GROUP = 32;

    /// The format a matrix is computed in; empty for the stored one.
    public Optional<QuantFormat> format(MatrixRole role) {
        return switch (role) {
            case EMBEDDING -> Optional.empty();
            case ROUTER_GATE -> Optional.of(QuantFormat.F32);
            case INDEXER_HEAD_WEIGHTS -> this == CHECKPOINT ? Optional.empty() : Optional.of(QuantFormat.F32);
            case ROUTED_EXPERT -> this == W4A8 ? Optional.of(QuantFormat.W4A8) : dense();
            case HEAD, ATTENTION, KEY_VALUE_UP, INDEXER, DENSE_MLP, SHARED_EXPERT, MTP_PROJECTION -> dense();
        };
    }

    /// The format of one matrix.
    ///
    /// @param name     of its tensor
    /// @param columns  its inputs
    /// @throws MillraceException `INVALID_CHECKPOINT` if it is too wide for its format
    public Optional<QuantFormat> format(MatrixRole role, String name, int columns) {
        Optional<QuantFormat> format = format(role);
        if (format.equals(Optional.of(QuantFormat.W8A8)) && columns > QuantizedMatrix.MAX_INT8_INPUTS) {
            throw new MillraceException(
                    ErrorCode.INVALID_CHECKPOINT,
                    "tensor " + name + ": " + columns + " inputs in profile " + id() + " (expected: at most "
                            + QuantizedMatrix.MAX_INT8_INPUTS
                            + " in int8, whose sums fit 32 bits; profile bf16 has no such limit)");
        }
        return format;
    }

    private Optional<QuantFormat> dense() {
        return switch (this) {
            case CHECKPOINT -> Optional.empty();
            case BF16 -> Optional.of(QuantFormat.BF16);
            case W8A8, W4A8 -> Optional.of(QuantFormat.W8A8);
        };
    }

    /// Name in configuration and in numerics ids, e.g. `w8a8`.
    public String id() {
        return name().toLowerCase(Locale.ROOT);
    }

    /// The profile of that name.
    ///
    /// @throws IllegalArgumentException if there is none
    public static WeightProfile of(String id) {
        for (WeightProfile profile : values()) {
            if (profile.id().equals(id)) {
                return profile;
            }
        }
        throw new IllegalArgumentException(
                "weights profile: \"" + id + "\" (expected: checkpoint, bf16, w8a8 or w4a8)");
    }
}
