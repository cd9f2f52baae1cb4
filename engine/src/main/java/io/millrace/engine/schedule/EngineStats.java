package io.millrace.engine.schedule;

/// Counters and gauges of an engine loop at one moment.
///
/// @param runningSequences       sequences that take part in steps
/// @param waitingRequests        requests without pages, preempted sequences included
/// @param reservations           requests that hold pages and have not started
/// @param freePages              free pages of the pool
/// @param pages                  pages of the pool
/// @param steps                  steps computed
/// @param rows                   rows computed in them
/// @param promptTokensComputed   prompt tokens computed for the first time
/// @param tokensRecomputed       tokens computed again after a preemption
/// @param generatedTokens        tokens sampled
/// @param preemptions            sequences that lost their pages
/// @param refused                requests refused because every place was taken or the wait was too long
/// @param finished               sequences that came to their end
/// @param cancelled              sequences cancelled
/// @param failed                 sequences that failed
public record EngineStats(
        int runningSequences,
        int waitingRequests,
        int reservations,
        int freePages,
        int pages,
        long steps,
        long rows,
        long promptTokensComputed,
        long tokensRecomputed,
        long generatedTokens,
        long preemptions,
        long refused,
        long finished,
        long cancelled,
        long failed) {}
