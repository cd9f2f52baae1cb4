package io.millrace.kvcache.store;

/// What became of a block of a put.
enum PutBlock {
    STORED,
    DUPLICATE,
    NO_ROOM,
    NO_PARENT,
    /// Announced, but not complete when the stream ended.
    DROPPED
}
