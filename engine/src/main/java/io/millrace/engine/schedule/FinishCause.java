package io.millrace.engine.schedule;

/// Why a sequence ended.
public sealed interface FinishCause {

    /// A stop id was generated; it is the last token.
    record StopId(int id) implements FinishCause {}

    /// A stop string appeared.
    ///
    /// @param stop           the string
    /// @param cutCodePoints  code points to cut from the end of the text, stop string included
    record StopString(String stop, int cutCodePoints) implements FinishCause {}

    /// The most tokens asked for, or a full context.
    record Length() implements FinishCause {}
}
