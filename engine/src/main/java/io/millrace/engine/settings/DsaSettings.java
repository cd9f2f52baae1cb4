package io.millrace.engine.settings;

import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/// Keys `millrace.dsa.*`: sparse attention of the instance. Part of the KV namespace.
///
/// @param topK  slots a row selects; 0 is dense attention, null takes the model's own number
public record DsaSettings(@Nullable Integer topK) {
    public DsaSettings {
        if (topK != null && topK < 0) {
            throw new IllegalArgumentException("millrace.dsa.top-k: " + topK
                    + " (expected: 0 for dense attention, or the number of slots a row selects)");
        }
    }

    /// Takes everything from the model.
    public static DsaSettings defaults() {
        return new DsaSettings(null);
    }

    /// The override, empty when the model's own number applies; 0 is dense attention.
    public OptionalInt topKOverride() {
        return topK == null ? OptionalInt.empty() : OptionalInt.of(topK);
    }
}
