package io.millrace.rpc;

/// Outcome of a put stream.
public sealed interface PutResult {

    /// The cache answered.
    ///
    /// @param storedBlocks   blocks that are new, tails included
    /// @param skippedBlocks  blocks that were there already, or were refused
    /// @param refusedBlocks  of those skipped, how many are not in the cache (no room, parent gone)
    record Stored(int storedBlocks, int skippedBlocks, int refusedBlocks) implements PutResult {
        /// Whether every block sent can be fetched.
        public boolean complete() {
            return refusedBlocks == 0;
        }
    }

    /// The stream failed: blocks that were complete may be there, others are not.
    record Faulted(CacheFault fault) implements PutResult {}
}
