package io.millrace.kernels;

import java.util.AbstractList;
import java.util.List;
import java.util.RandomAccess;
import java.util.function.IntFunction;

/// Packed matrices that differ in their elements alone: one projection of all heads, or of all experts.
///
/// Their addresses lie side by side. Between two steps all weights pass through the caches, so each object that a step
/// looks at comes from memory, and a matrix, its segment and its address can only be asked for one after the other:
/// for the experts of a layer that is longer than reading some of them.
public final class PackedMatrices extends AbstractList<PackedMatrix> implements RandomAccess {
    private final List<PackedMatrix> matrices;
    private final long[] addresses;

    private PackedMatrices(List<PackedMatrix> matrices) {
        this.matrices = List.copyOf(matrices);
        this.addresses = new long[matrices.size()];
        for (int i = 0; i < addresses.length; i++) {
            addresses[i] = matrices.get(i).data().address();
        }
    }

    /// Puts matrices together; none is allowed.
    ///
    /// @param name  what each is called in messages
    /// @throws IllegalArgumentException if one has another size, format or layout than the first
    public static PackedMatrices of(IntFunction<String> name, List<PackedMatrix> matrices) {
        for (int i = 1; i < matrices.size(); i++) {
            OperatorArguments.alike(name.apply(i), matrices.get(i), matrices.getFirst());
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

    /// Address of a matrix's elements. Whoever uses it keeps these matrices reachable meanwhile.
    public long address(int index) {
        return addresses[index];
    }
}
