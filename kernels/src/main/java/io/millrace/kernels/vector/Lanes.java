package io.millrace.kernels.vector;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorShuffle;
import jdk.incubator.vector.VectorSpecies;

/// Vectors of this machine's preferred width and their loads and stores at native addresses.
///
/// Kernels work on addresses, not segments: one segment that spans all memory makes every access the same code,
/// whatever arena it came from. Bounds are checked once per operator, before an address is taken ([#address]).
///
/// The access methods mask their address to a range whose check the compiler can decide, so none is left in the code.
/// With checks, a loop over several arrays turns into a nest of loops with a slow first round, and its nodes exhaust
/// the inlining budget, whereupon vectors are boxed. In a hot loop the mask itself goes away if the bases of its
/// addresses are [#base] and its offsets [#offset].
final class Lanes {
    static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
    static final VectorSpecies<Integer> INTS = FLOATS.withLanes(int.class);
    static final VectorSpecies<Short> SHORTS =
            VectorSpecies.of(short.class, VectorShape.forBitSize(FLOATS.vectorBitSize() / 2));

    /// Floats in a vector.
    static final int COUNT = FLOATS.length();

    /// Bytes of a vector.
    static final int BYTES = COUNT * Float.BYTES;

    static final MemorySegment ALL = everything();
    static final ByteOrder ORDER = ByteOrder.LITTLE_ENDIAN;
    static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ORDER);
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ORDER);
    private static final VectorShuffle<Float> SWAP8 = butterfly(8);
    private static final VectorShuffle<Float> SWAP4 = butterfly(4);
    private static final VectorShuffle<Float> SWAP2 = butterfly(2);
    private static final VectorShuffle<Float> SWAP1 = butterfly(1);

    /// No address or offset of a process has more bits: the sum of two stays in the range of [#ACCESS].
    private static final long BASE = (1L << 56) - 1;

    static final long ACCESS = (1L << 60) - 1;

    /// Address of a vector of zeros.
    static final long NOTHING = Arena.global().allocate(BYTES, 64).address();

    private Lanes() {}

    @SuppressWarnings("restricted")
    private static MemorySegment everything() {
        return MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
    }

    /// Exchanges lanes `distance` apart.
    static VectorShuffle<Float> butterfly(int distance) {
        return VectorShuffle.fromOp(FLOATS, i -> (i ^ distance) % FLOATS.length());
    }

    /// Address of a segment's first byte.
    static long address(MemorySegment segment) {
        if (!segment.isNative()) {
            throw new IllegalArgumentException("segment: on the heap (expected: native memory)");
        }
        return segment.address();
    }

    /// The address itself, in a range the compiler knows.
    static long base(long address) {
        return address & BASE;
    }

    /// `index * step`, in a range the compiler knows.
    static long offset(int index, long step) {
        return index * step & BASE;
    }

    /// Vectors that hold `elements` floats.
    static int panels(int elements) {
        return (elements + COUNT - 1) / COUNT;
    }

    /// `elements` rounded up to whole vectors.
    static int padded(int elements) {
        return panels(elements) * COUNT;
    }

    static FloatVector load(long address) {
        return FloatVector.fromMemorySegment(FLOATS, ALL, address & ACCESS, ORDER);
    }

    static FloatVector load(long address, VectorMask<Float> mask) {
        return FloatVector.fromMemorySegment(FLOATS, ALL, address & ACCESS, ORDER, mask);
    }

    static IntVector loadInts(long address) {
        return IntVector.fromMemorySegment(INTS, ALL, address & ACCESS, ORDER);
    }

    /// Widens `COUNT` bfloat16 elements.
    static FloatVector loadBfloat16(long address) {
        IntVector bits = (IntVector) ShortVector.fromMemorySegment(SHORTS, ALL, address & ACCESS, ORDER)
                .convertShape(VectorOperators.ZERO_EXTEND_S2I, INTS, 0);
        return low(bits);
    }

    /// Rounds to bfloat16, as [io.millrace.kernels.Bfloat16#round] does, and stores `COUNT` of them.
    static void storeBfloat16(FloatVector v, long address) {
        IntVector bits = v.reinterpretAsInts();
        IntVector upper = bits.lanewise(VectorOperators.LSHR, 16);
        IntVector rounded = bits.add(upper.and(1)).add(0x7fff).lanewise(VectorOperators.LSHR, 16);
        // All ones where the magnitude's bits are above those of infinity.
        IntVector nan = bits.and(0x7fffffff)
                .sub(0x7f800001)
                .lanewise(VectorOperators.ASHR, 31)
                .not();
        rounded =
                rounded.lanewise(VectorOperators.AND_NOT, nan).or(upper.or(0x40).and(nan));
        rounded.convertShape(VectorOperators.I2S, SHORTS, 0).intoMemorySegment(ALL, address & ACCESS, ORDER);
    }

    /// The float of each lane's lower bfloat16.
    static FloatVector low(IntVector pair) {
        return pair.lanewise(VectorOperators.LSHL, 16).reinterpretAsFloats();
    }

    /// The float of each lane's upper bfloat16.
    static FloatVector high(IntVector pair) {
        return pair.and(0xffff0000).reinterpretAsFloats();
    }

    static void store(FloatVector vector, long address) {
        vector.intoMemorySegment(ALL, address & ACCESS, ORDER);
    }

    static void store(FloatVector vector, long address, VectorMask<Float> mask) {
        vector.intoMemorySegment(ALL, address & ACCESS, ORDER, mask);
    }

    /// Lanes of the tail of an array: those of `[from, count)`.
    static VectorMask<Float> tail(int from, int count) {
        return FLOATS.indexInRange(from, count);
    }

    static FloatVector zero() {
        return FloatVector.zero(FLOATS);
    }

    /// The float at an address in every lane.
    static FloatVector broadcast(long address) {
        return FloatVector.broadcast(FLOATS, ALL.get(FLOAT, address & ACCESS));
    }

    static FloatVector broadcast(float value) {
        return FloatVector.broadcast(FLOATS, value);
    }

    static float get(long address) {
        return ALL.get(FLOAT, address & ACCESS);
    }

    static void set(long address, float value) {
        ALL.set(FLOAT, address & ACCESS, value);
    }

    static short getShort(long address) {
        return ALL.get(SHORT, address & ACCESS);
    }

    static void setShort(long address, short value) {
        ALL.set(SHORT, address & ACCESS, value);
    }

    static void copy(long from, long to, long bytes) {
        MemorySegment.copy(ALL, from, ALL, to, bytes);
    }

    /// Zeros, in a number of bytes that is a multiple of 4.
    static void clear(long address, long bytes) {
        long at = 0;
        for (; at + BYTES <= bytes; at += BYTES) {
            store(zero(), address + at);
        }
        for (; at < bytes; at += Float.BYTES) {
            set(address + at, 0);
        }
    }

    /// The sum over the lanes: halves are added until one lane is left.
    static float sum(FloatVector vector) {
        FloatVector v = vector;
        if (COUNT > 8) {
            v = v.add(v.rearrange(SWAP8));
        }
        if (COUNT > 4) {
            v = v.add(v.rearrange(SWAP4));
        }
        if (COUNT > 2) {
            v = v.add(v.rearrange(SWAP2));
        }
        return v.add(v.rearrange(SWAP1)).lane(0);
    }
}
