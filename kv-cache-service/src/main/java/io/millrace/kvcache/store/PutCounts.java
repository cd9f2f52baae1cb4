package io.millrace.kvcache.store;

/// What a put stream did.
///
/// @param stored   new blocks and tails
/// @param skipped  others
/// @param refused  of those skipped, how many are not in the store
public record PutCounts(int stored, int skipped, int refused) {}
