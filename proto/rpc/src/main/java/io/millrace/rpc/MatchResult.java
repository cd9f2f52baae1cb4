package io.millrace.rpc;

/// Outcome of a match.
public sealed interface MatchResult {

    /// The lease stands and covers the first `blocks` of the chain.
    ///
    /// @param blocks      blocks found, from the first on
    /// @param diskBlocks  of those, how many come from disk
    /// @param bootEpoch   identifies this start of the cache
    record Matched(int blocks, int diskBlocks, String bootEpoch) implements MatchResult {}

    /// No lease: go on without the cache.
    record Faulted(CacheFault fault) implements MatchResult {}
}
