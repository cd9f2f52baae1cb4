package io.millrace.kvcache.store;

import com.google.protobuf.ByteString;

/// Reaches the store's hook for tests, which only its own package sees.
public final class StoredBit {
    private StoredBit() {}

    /// Flips the lowest bit of one byte of a stored block or tail, with a checksum that hides it.
    ///
    /// @param store  the bean of a running kv-cache-service
    /// @return false if there is no such block
    public static boolean flip(BlockStore store, ByteString blockId, int section, int offset) {
        return store.flipBit(blockId, section, offset, true);
    }

    /// The same, but the checksum stays: whoever looks at it sees the damage.
    public static boolean damage(BlockStore store, ByteString blockId, int section, int offset) {
        return store.flipBit(blockId, section, offset, false);
    }
}
