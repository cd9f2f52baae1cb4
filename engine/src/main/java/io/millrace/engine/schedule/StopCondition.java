package io.millrace.engine.schedule;

/// Decides, one generated id after the other, whether a sequence has reached its end by what it says. It
/// has state and belongs to one sequence. On a retry or migration it is built anew and fed the ids
/// generated so far.
public interface StopCondition {

    /// Takes the next generated id. Not to be called again after [Matched].
    Verdict accept(int id);

    /// What is known after an id.
    sealed interface Verdict permits Unmatched, Matched {}

    /// Nothing matched yet.
    ///
    /// @param releasableIds  how many ids, counted from the first one accepted, may go to the client:
    ///                       their text cannot be part of a stop string any more. It never falls. When
    ///                       the sequence ends for another reason, all ids may go.
    record Unmatched(int releasableIds) implements Verdict {}

    /// The sequence ends with this id; all ids may go to the client.
    ///
    /// @param stop           the stop string found
    /// @param cutCodePoints  code points to cut from the end of the text of all ids, stop string included
    record Matched(String stop, int cutCodePoints) implements Verdict {}
}
