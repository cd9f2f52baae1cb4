package io.millrace.kernels;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// Random weights of a mixture of experts, to be packed by any provider.
///
/// @param matrices  gate, up and down of each expert, then of the shared one; floats
/// @param rotation  whether inner activations are rotated
public record MixtureCase(
        ExpertGating gating,
        QuantFormat format,
        MatrixView gate,
        MemorySegment bias,
        List<MatrixView> matrices,
        int hidden,
        boolean rotation) {

    public static MixtureCase of(SeededRandom random, ExpertGating gating, QuantFormat format, int hidden, int width) {
        List<MatrixView> all = new ArrayList<>();
        for (int e = 0; e < gating.experts(); e++) {
            all.addAll(matrices(random, format, hidden, width));
        }
        all.addAll(matrices(random, format, hidden, width + 5));
        MatrixView gate = random.matrix(QuantFormat.F32, gating.experts(), hidden, 0);
        MemorySegment bias = random.floats(gating.experts(), 0.3);
        return new MixtureCase(gating, format, gate, bias, all, hidden, format.isInteger());
    }

    /// Gate, up and down of a feed-forward.
    public static List<MatrixView> matrices(SeededRandom random, QuantFormat format, int hidden, int width) {
        QuantFormat views = format.isInteger() ? QuantFormat.F32 : format;
        return List.of(
                random.matrix(views, width, hidden, 0),
                random.matrix(views, width, hidden, 0),
                random.matrix(views, hidden, width, 0));
    }

    /// The same with another bias.
    public MixtureCase withBias(MemorySegment other) {
        return new MixtureCase(gating, format, gate, other, matrices, hidden, rotation);
    }

    public MoeWeights pack(Kernels kernels) {
        List<GatedMlpWeights> experts = new ArrayList<>();
        for (int e = 0; e <= gating.experts(); e++) {
            experts.add(mlp(kernels, format, matrices.subList(3 * e, 3 * e + 3), rotation));
        }
        GatedMlpWeights shared = experts.removeLast();
        return new MoeWeights(
                gating, kernels.pack(gate, Arena.ofAuto()), bias, RoutedExperts.of("expert ", experts), shared);
    }

    /// A packed feed-forward.
    public static GatedMlpWeights mlp(Kernels kernels, QuantFormat format, List<MatrixView> m, boolean rotation) {
        return new GatedMlpWeights(
                LayerCase.pack(kernels, format, m.get(0)),
                LayerCase.pack(kernels, format, m.get(1)),
                LayerCase.pack(kernels, format, m.get(2)),
                rotation ? Hadamard.largestBlock(m.get(0).rows()) : 1);
    }

    /// The mixture of some rows.
    public MemorySegment run(Kernels kernels, MemorySegment x, int rows) {
        MemorySegment y = Floats.zeros((long) rows * hidden);
        kernels.moeExperts(pack(kernels), x, rows, y);
        return y;
    }
}
