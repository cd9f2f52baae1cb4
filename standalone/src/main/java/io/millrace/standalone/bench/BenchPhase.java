package io.millrace.standalone.bench;

import java.util.Locale;

/// A kind of work that is measured.
public enum BenchPhase {
    /// A prompt, in chunks; its last token gives logits.
    PREFILL,
    /// Tokens one by one.
    DECODE,
    /// Steps of a few tokens of one sequence that all give logits, as the verification of drafts needs them.
    VERIFY;

    /// Its name in tables and JSON.
    public String id() {
        return name().toLowerCase(Locale.ROOT);
    }
}
