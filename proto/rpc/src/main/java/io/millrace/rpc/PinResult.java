package io.millrace.rpc;

/// Outcome of a pin.
public sealed interface PinResult {

    /// The caller is a holder of the lease.
    ///
    /// @param blocks  how many of the blocks asked for are there and now under the lease
    record Pinned(int blocks) implements PinResult {}

    record Faulted(CacheFault fault) implements PinResult {}
}
