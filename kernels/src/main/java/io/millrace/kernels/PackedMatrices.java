package io.millrace.kernels;

import java.util.AbstractList;
import java.util.List;
import java.util.RandomAccess;
import java.util.function.IntFunction;

/// Packed matrices of one size: one projection of all heads, or of all experts. Their number formats may differ.
///
/// Their addresses lie side by side. Between two steps all weights pass through the caches, so each object that a step
/// looks at comes from memory, and a matrix, its segment and its address can only be asked for one after the other:
/// for the experts of a layer that is longer than reading some of them.
public final class PackedMatrices extends AbstractList<PackedMatrix> implements RandomAccess {
    private final List<PackedMatrix> matrices;
    private final long[] addresses;
    private final boolean alike;
    private final int integerInputs;

    private PackedMatrices(List<PackedMatrix> matrices) {
        this.matrices = List.copyOf(matrices);
        this.addresses = new long[matrices.size()];
        for (int i = 0; i < addresses.length; i++) {
            addresses[i] = matrices.get(i).data().address();
        }
        this.alike = matrices.stream().allMatch(m -> alike(m, matrices.getFirst()));
        this.integerInputs = matrices.stream()
                .filter(m -> m.format().isInteger())
                .mapToInt(IntegerPanels::paddedInputs)
                .max()
                .orElse(0);
    }

    private static boolean alike(PackedMatrix a, PackedMatrix b) {
        return a.format() == b.format() && a.group() == b.group() && a.scaleAxis() == b.scaleAxis();
    }

    /// Puts matrices together; none is allowed.
    ///
    /// @param name  what each is called in messages
    /// @throws IllegalArgumentException if one has another size than the first, or was packed by another provider
    public static PackedMatrices of(IntFunction<String> name, List<PackedMatrix> matrices) {
        for (int i = 1; i < matrices.size(); i++) {
            OperatorArguments.fits(name.apply(i), matrices.get(i), matrices.getFirst());
        }
        return new PackedMatrices(matrices);
    }

    @Override
    public PackedMatrix get(int index) {
        return matrices.get(index);
    }

    @Override
    public int size() {
        return addresses.length;
    }

    /// A matrix that differs from this one in its elements at most: the first, wherever it can be, so that a step asks
    /// one object for all.
    public PackedMatrix like(int index) {
        return alike ? matrices.getFirst() : matrices.get(index);
    }

    /// Inputs of the integer ones among them, the padding included; 0 if there are none.
    public int integerInputs() {
        return integerInputs;
    }

    /// Address of a matrix's elements. Whoever uses it keeps these matrices reachable meanwhile.
    public long address(int index) {
        return addresses[index];
    }
}
