package io.millrace.kvcache.store;

import com.google.protobuf.ByteString;

/// A block that a put announces.
///
/// @param parentId  the block before it, the namespace for the first; empty for a tail
public record BlockTerms(ByteString id, ByteString parentId, boolean tail, int tokens) {}
