package io.millrace.kvcache.store;

import com.google.protobuf.ByteString;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/// The blocks of all namespaces as a tree of prefixes: a block's parent is the block before it.
///
/// # Why one node per block
///
/// Radix trees of other caches key a node by a run of tokens and split it when a new sequence leaves
/// the run midway.
/// That compression pays where a key is one token and a node is all there is. Here a key already stands
/// for 64 tokens
/// *and everything before them*: `id_n = SHA-256(id_{n-1} ‖ tokens)`. So
///
/// - two sequences share a block exactly if they share its id: there is nothing to compare and nothing
///   to split, and
///   one hash map from id to node finds any block without walking;
/// - a node costs some 100 bytes beside a block of 100 KB and more: joining runs would save nothing
///   that shows;
/// - pins, evictions and events are per block anyway (a lease covers the first n blocks of a chain,
///   eviction takes the
///   last), so a node of several blocks would be split by nearly every use.
///
/// What remains of the tree is the parent link and the count of children, which carry its three
/// invariants:
///
/// 1. **No orphan.** A node's parent is in the tree. Attaching demands the parent; only leaves are
/// taken out.
/// 2. **Pinned up to the root.** A [PinSet] that holds a node holds its parent. So every unpinned node
/// has an unpinned
///    subtree, and all unpinned bytes can be evicted, leaf by leaf: `evictable = total − pinned`,
///    exactly.
/// 3. **Evictable leaves are ordered.** `leaves` holds the nodes without children and pins, by last
/// use, then age. A node
///    leaves the set before a field of its order changes and comes back after.
///
/// All nodes a call touches get the same tick of a logical clock. Within a chain the order does not
/// matter, as a parent
/// becomes a leaf only after its children went. Namespaces share the order: a namespace that nobody
/// uses any more (old
/// weights, a tenant who left) is simply never touched and goes first.
///
/// `nodes` keeps insertion order, and a parent always comes before its children: iterating it is a
/// snapshot that a
/// receiver can replay.
///
/// **Damage.** A node whose bytes fail their checksum stays in its place, as pins and children hang on
/// it, but is out of sight: matches end before it, so its descendants cannot be hit either. They are
/// whole and come back when its bytes are put again.
///
/// Not thread-safe: [BlockStore] guards it.
final class PrefixTree {
    private final Map<ByteString, TreeNode> nodes = new LinkedHashMap<>();
    private final TreeSet<TreeNode> leaves = new TreeSet<>(
            Comparator.comparingLong((TreeNode node) -> node.lastUse).thenComparingLong(node -> node.sequence));
    private long tick;
    private long sequence;
    private long totalBytes;
    private long pinnedBytes;
    private int pinnedBlocks;

    /// Starts a new tick of the logical clock: one for each operation.
    void nextTick() {
        tick++;
    }

    /// The stored beginning of a chain, which counts as used.
    List<TreeNode> match(ByteString namespace, List<ByteString> chain) {
        List<TreeNode> found = new ArrayList<>();
        TreeNode previous = null;
        for (ByteString id : chain) {
            TreeNode node = nodes.get(id);
            if (node == null
                    || node.damaged
                    || node.parent != previous
                    || !node.namespace().equals(namespace)) {
                break;
            }
            touch(node);
            found.add(node);
            previous = node;
        }
        return found;
    }

    @Nullable
    TreeNode find(ByteString id) {
        return nodes.get(id);
    }

    /// Adds a block that is not there yet.
    ///
    /// @param parent  a node of this tree, null for the first block of a chain
    TreeNode attach(@Nullable TreeNode parent, StoredBlock block) {
        if (nodes.containsKey(block.id())) {
            throw new IllegalStateException("the block is already in the tree");
        }
        TreeNode node = new TreeNode(parent, block, sequence++, tick);
        nodes.put(block.id(), node);
        totalBytes += node.sizeBytes;
        if (parent != null) {
            leaves.remove(parent);
            parent.children++;
        }
        leaves.add(node);
        return node;
    }

    /// Takes a node whose bytes are damaged out of sight.
    ///
    /// @return what could be matched until now and cannot any more, parents before children
    List<TreeNode> damage(TreeNode node) {
        List<TreeNode> lost = node.matchable() ? matchableFrom(node) : List.of();
        node.damaged = true;
        return lost;
    }

    /// Gives a damaged node sound bytes, of the same size.
    ///
    /// @return what can be matched again, parents before children
    List<TreeNode> repair(TreeNode node, StoredBlock block) {
        node.block = block;
        node.damaged = false;
        touch(node);
        return node.matchable() ? matchableFrom(node) : List.of();
    }

    private List<TreeNode> matchableFrom(TreeNode top) {
        Set<TreeNode> reached = new LinkedHashSet<>();
        reached.add(top);
        for (TreeNode node : nodes.values()) {
            if (!node.damaged && node.parent != null && reached.contains(node.parent)) {
                reached.add(node);
            }
        }
        return List.copyOf(reached);
    }

    /// All nodes that a match can reach, parents before children.
    List<TreeNode> matchable() {
        Set<TreeNode> hidden = new HashSet<>();
        List<TreeNode> found = new ArrayList<>(nodes.size());
        for (TreeNode node : nodes.values()) {
            if (node.damaged || (node.parent != null && hidden.contains(node.parent))) {
                hidden.add(node);
            } else {
                found.add(node);
            }
        }
        return found;
    }

    void touch(TreeNode node) {
        boolean leaf = leaves.remove(node);
        node.lastUse = tick;
        if (leaf) {
            leaves.add(node);
        }
    }

    void pin(TreeNode node) {
        if (node.pins == 0) {
            leaves.remove(node);
            pinnedBytes += node.sizeBytes;
            pinnedBlocks++;
        }
        node.pins++;
    }

    /// Takes one pin away; the node counts as used until now.
    void unpin(TreeNode node) {
        node.pins--;
        node.lastUse = tick;
        if (node.pins == 0) {
            pinnedBytes -= node.sizeBytes;
            pinnedBlocks--;
            if (node.children == 0) {
                leaves.add(node);
            }
        }
    }

    /// Takes out the least recently used leaf that nobody pins.
    Optional<TreeNode> evictOne() {
        TreeNode node = leaves.pollFirst();
        if (node == null) {
            return Optional.empty();
        }
        nodes.remove(node.id());
        totalBytes -= node.sizeBytes;
        TreeNode parent = node.parent;
        if (parent != null) {
            parent.children--;
            if (parent.evictable()) {
                leaves.add(parent);
            }
        }
        return Optional.of(node);
    }

    /// All nodes, parents before children.
    Collection<TreeNode> nodes() {
        return nodes.values();
    }

    int evictableLeaves() {
        return leaves.size();
    }

    long totalBytes() {
        return totalBytes;
    }

    long pinnedBytes() {
        return pinnedBytes;
    }

    int blocks() {
        return nodes.size();
    }

    int pinnedBlocks() {
        return pinnedBlocks;
    }
}
