package io.millrace.kvcache.store;

import com.google.protobuf.ByteString;
import org.jspecify.annotations.Nullable;

/// A block's place in the tree. Fields are changed by [PrefixTree] only.
final class TreeNode {
    /// Null for the first block of a chain.
    final @Nullable TreeNode parent;
    /// Numbers nodes in the order they came; settles ties of [#lastUse].
    final long sequence;
    final long sizeBytes;
    StoredBlock block;
    int children;
    /// Pin sets that hold this node.
    int pins;
    long lastUse;
    /// Its bytes are not what was put: no use until they are put again.
    boolean damaged;

    TreeNode(@Nullable TreeNode parent, StoredBlock block, long sequence, long lastUse) {
        this.parent = parent;
        this.block = block;
        this.sizeBytes = block.sizeBytes();
        this.sequence = sequence;
        this.lastUse = lastUse;
    }

    ByteString id() {
        return block.id();
    }

    ByteString namespace() {
        return block.namespace();
    }

    /// Id of the block before; the namespace for the first.
    ByteString parentId() {
        return parent == null ? namespace() : parent.id();
    }

    /// Whether a match can reach this node.
    boolean matchable() {
        for (TreeNode up = this; up != null; up = up.parent) {
            if (up.damaged) {
                return false;
            }
        }
        return true;
    }

    boolean evictable() {
        return pins == 0 && children == 0;
    }
}
