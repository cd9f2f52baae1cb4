package io.millrace.kernels;

import java.util.AbstractList;
import java.util.List;
import java.util.RandomAccess;
import java.util.function.Function;
import java.util.function.IntFunction;

/// The routed experts of a layer: feed-forwards of one shape and rotation, and each projection of all of them.
public final class RoutedExperts extends AbstractList<GatedMlpWeights> implements RandomAccess {
    private final List<GatedMlpWeights> experts;
    private final PackedMatrices gates;
    private final PackedMatrices ups;
    private final PackedMatrices downs;

    private RoutedExperts(String name, List<GatedMlpWeights> experts) {
        this.experts = List.copyOf(experts);
        this.gates = all(e -> name + e + ".gate", GatedMlpWeights::gate);
        this.ups = all(e -> name + e + ".up", GatedMlpWeights::up);
        this.downs = all(e -> name + e + ".down", GatedMlpWeights::down);
    }

    private PackedMatrices all(IntFunction<String> name, Function<GatedMlpWeights, PackedMatrix> projection) {
        return PackedMatrices.of(name, experts.stream().map(projection).toList());
    }

    /// Puts experts together.
    ///
    /// @param name  what each is called in messages, before its number
    /// @throws IllegalArgumentException if one has other sizes or another rotation than the first, or was packed by
    ///     another provider
    public static RoutedExperts of(String name, List<GatedMlpWeights> experts) {
        for (int e = 1; e < experts.size(); e++) {
            int expected = experts.getFirst().rotation();
            if (experts.get(e).rotation() != expected) {
                throw new IllegalArgumentException(name + e + ": rotation "
                        + experts.get(e).rotation() + " (expected: " + expected + ", as " + name + "0)");
            }
        }
        return new RoutedExperts(name, experts);
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
