package io.millrace.kvcache.store;

import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// Nodes that one owner (a lease, a put under way) keeps from eviction. Closed upwards: with a node it
/// holds the node's
/// parent, so a node's pins are never more than its parent's.
final class PinSet {
    private final PrefixTree tree;
    private final Set<TreeNode> nodes = new LinkedHashSet<>();

    PinSet(PrefixTree tree) {
        this.tree = tree;
    }

    /// Pins a node and what lies above it.
    void add(TreeNode node) {
        for (@Nullable TreeNode up = node; up != null && nodes.add(up); up = up.parent) {
            tree.pin(up);
        }
    }

    boolean contains(TreeNode node) {
        return nodes.contains(node);
    }

    int size() {
        return nodes.size();
    }

    void clear() {
        for (TreeNode node : nodes) {
            tree.unpin(node);
        }
        nodes.clear();
    }
}
