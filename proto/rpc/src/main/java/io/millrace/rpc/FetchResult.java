package io.millrace.rpc;

/// Outcome of a fetch.
public sealed interface FetchResult {

    /// Every section arrived, its checksum held, and the lease still stood after the last byte.
    record Fetched(int blocks, long sizeBytes) implements FetchResult {}

    /// What the sink got so far must not be used: compute it again.
    record Faulted(CacheFault fault) implements FetchResult {}
}
