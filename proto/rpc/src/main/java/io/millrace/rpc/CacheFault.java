package io.millrace.rpc;

/// Why the prefix cache could not serve. A fault is a value because it never fails a request: what the
/// cache does not
/// give is computed again.
///
/// @param message  one sentence for the log
public record CacheFault(Reason reason, String message) {

    /// Closed set of reasons; the lower-case names are values of a metric's tag.
    public enum Reason {
        /// The lease ended, or does not cover the blocks.
        LEASE_EXPIRED,
        /// A block is not there.
        BLOCK_NOT_FOUND,
        /// Bytes and checksum differ.
        CHECKSUM_MISMATCH,
        /// The bytes are those that were stored, but not of numbers.
        BROKEN_VALUES,
        /// The stream ended early, or a section has another size, order or block than asked for.
        INCOMPLETE,
        /// No room left.
        CACHE_FULL,
        /// The cache did not answer in time.
        DEADLINE_EXCEEDED,
        /// The cache cannot be reached, went away or failed.
        UNAVAILABLE,
        /// The cache refused the request as malformed: a programming error or another version.
        REJECTED
    }
}
