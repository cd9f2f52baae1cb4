package io.millrace.engine.schedule;

/// What a loop is for: decides its turn among the loops of one JVM, and its name in logs.
public enum EngineRole {
    PREFILL,
    DECODE
}
