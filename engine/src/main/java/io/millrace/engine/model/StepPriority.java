package io.millrace.engine.model;

/// Which of two waiting engine loops of one JVM steps first.
public enum StepPriority {
    /// Goes first: somebody is waiting for the next token.
    DECODE,
    /// Yields to decode, but gets a turn after a few decode steps.
    PREFILL
}
