package io.millrace.kvcache.store;

import com.google.protobuf.ByteString;

/// A block came or went.
public sealed interface StoreEvent {

    record Stored(ByteString id, ByteString parentId) implements StoreEvent {}

    record Removed(ByteString id) implements StoreEvent {}
}
