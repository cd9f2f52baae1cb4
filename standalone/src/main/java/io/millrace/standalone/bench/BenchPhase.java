package io.millrace.standalone.bench;

import java.util.Locale;

/// A kind of work that is measured.
public enum BenchPhase {
    /// A prompt, in chunks; its last token gives logits.
    PREFILL,
    /// Tokens one by one.
    DECODE;

    /// Its name in tables and JSON.
    public String id() {
        return name().toLowerCase(Locale.ROOT);
    }
}
