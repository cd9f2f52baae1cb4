package io.millrace.kernels;

import java.util.AbstractList;
import java.util.List;
import java.util.RandomAccess;
import java.util.function.Function;

/// The routed experts of a layer: feed-forwards of one shape and format, and each projection of all of them.
public final class RoutedExperts extends AbstractList<GatedMlpWeights> implements RandomAccess {
    private final List<GatedMlpWeights> experts;
    private final PackedMatrices gates;
    private final PackedMatrices ups;
    private final PackedMatrices downs;

    private RoutedExperts(List<GatedMlpWeights> experts) {
        this.experts = List.copyOf(experts);
        this.gates = all("gate", GatedMlpWeights::gate);
        this.ups = all("up", GatedMlpWeights::up);
        this.downs = all("down", GatedMlpWeights::down);
    }

    private PackedMatrices all(String projection, Function<GatedMlpWeights, PackedMatrix> of) {
        return PackedMatrices.of(
                e -> "expert " + e + "." + projection, experts.stream().map(of).toList());
    }

    /// Puts experts together.
    ///
    /// @throws IllegalArgumentException if one has other sizes, formats, layouts or another rotation than the first
    public static RoutedExperts of(List<GatedMlpWeights> experts) {
        for (int e = 1; e < experts.size(); e++) {
            int expected = experts.getFirst().rotation();
            if (experts.get(e).rotation() != expected) {
                throw new IllegalArgumentException("expert " + e + ": rotation "
                        + experts.get(e).rotation() + " (expected: " + expected + ", as expert 0)");
            }
        }
        return new RoutedExperts(experts);
    }

    @Override
    public GatedMlpWeights get(int index) {
        return experts.get(index);
    }

    @Override
    public int size() {
        return experts.size();
    }

    /// The gate projections, `[width, hiddenSize]` each.
    public PackedMatrices gates() {
        return gates;
    }

    /// The up projections, `[width, hiddenSize]` each.
    public PackedMatrices ups() {
        return ups;
    }

    /// The down projections, `[hiddenSize, width]` each.
    public PackedMatrices downs() {
        return downs;
    }
}
