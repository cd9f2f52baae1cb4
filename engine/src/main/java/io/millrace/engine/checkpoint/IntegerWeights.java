package io.millrace.engine.checkpoint;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.profile.MatrixRole;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.QuantizedMatrix;
import io.millrace.kernels.ScaleAxis;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Optional;

/// Integer weights as compressed-tensors stores them, for a weight called `X.weight`:
///
/// - `int-quantized`: codes -127..127 as I8 in `X.weight` `[rows, columns]`, scales in `X.weight_scale`
///   `[rows, 1]`.
/// - `pack-quantized`: codes -8..7 plus 8 as nibbles of I32 in `X.weight_packed` `[rows, ceil(columns /
///   8)]`, input `8 w + i` in bits `4 i..` of word `w`; BF16 scales in `X.weight_scale` `[rows,
///   ceil(columns / group)]`; rows and columns as integers in `X.weight_shape` `[2]`.
public final class IntegerWeights {
    /// int4 codes in a word.
    public static final int PER_WORD = 8;

    private static final int BITS = 4;
    private static final int CODE_OFFSET = 8;
    private static final int NIBBLE = 15;
    private static final long ALIGNMENT = 64;
    private static final ValueLayout.OfInt WORD = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final ModelConfig config;
    private final TensorFiles tensors;

    IntegerWeights(ModelConfig config, TensorFiles tensors) {
        this.config = config;
        this.tensors = tensors;
    }

    /// Name of the scales.
    public static String scaleName(String weight) {
        return weight + "_scale";
    }

    /// Name of packed int4 codes.
    public static String packedName(String weight) {
        return weight + "_packed";
    }

    /// Name of the shape of packed codes.
    public static String shapeName(String weight) {
        return weight + "_shape";
    }

    /// Whether a weight may be int8: those that the integer profiles round, which leave embedding, router
    /// gate and the indexer's head weights in floating point.
    static boolean mayBeInt8(String weight) {
        return MatrixRole.of(weight)
                .flatMap(WeightProfile.W8A8::format)
                .filter(QuantFormat::isInteger)
                .isPresent();
    }

    /// Whether a weight may be int4: those of routed experts.
    static boolean mayBeInt4(String weight) {
        return MatrixRole.of(weight).equals(Optional.of(MatrixRole.ROUTED_EXPERT));
    }

    /// The numbers of a shape tensor; empty if its type is no integer one.
    static List<Long> shape(TensorInfo info, MemorySegment data) {
        return switch (info.type()) {
            case I64 -> List.of(data.getAtIndex(LONG, 0), data.getAtIndex(LONG, 1));
            case I32 -> List.of((long) data.getAtIndex(WORD, 0), (long) data.getAtIndex(WORD, 1));
            case BOOL, U8, I8, F8_E4M3, F8_E5M2, I16, U16, F16, BF16, U32, F32, U64, F64 -> List.of();
        };
    }

    /// Whether the weight is there in integers.
    boolean holds(String name) {
        return tensors.has(packedName(name))
                || (tensors.has(name) && tensors.info(name).type() == TensorType.I8);
    }

    QuantizedMatrix read(String name, Arena arena) {
        return tensors.has(packedName(name)) ? int4(name, arena) : int8(name, arena);
    }

    private QuantizedMatrix int8(String name, Arena arena) {
        TensorInfo info = tensors.info(name);
        int rows = Math.toIntExact(info.shape().get(0));
        int columns = Math.toIntExact(info.shape().get(1));
        if (columns > QuantizedMatrix.MAX_INT8_INPUTS) {
            String most = "at most " + QuantizedMatrix.MAX_INT8_INPUTS + " in int8, whose sums fit 32 bits";
            throw bad(name, columns + " inputs", most);
        }
        MemorySegment codes = tensors.fileOf(name).data(name);
        for (long i = 0; i < codes.byteSize(); i++) {
            if (codes.get(ValueLayout.JAVA_BYTE, i) == Byte.MIN_VALUE) {
                throw bad(name, "code -128 at element " + i, "codes in -127..127");
            }
        }
        MemorySegment scales = scales(name, arena);
        return new QuantizedMatrix(
                QuantFormat.W8A8, rows, columns, columns, ScaleAxis.OUTPUT, codes, columns, 1, scales);
    }

    private QuantizedMatrix int4(String name, Arena arena) {
        int group = config.integers().flatMap(IntegerScheme::int4).orElseThrow();
        TensorInfo info = tensors.info(packedName(name));
        String shapeName = shapeName(name);
        List<Long> shape =
                shape(tensors.info(shapeName), tensors.fileOf(shapeName).data(shapeName));
        int rows = Math.toIntExact(shape.get(0));
        int columns = Math.toIntExact(shape.get(1));
        long words = info.shape().get(1);
        MemorySegment packed = tensors.fileOf(packedName(name)).data(packedName(name));
        MemorySegment codes = arena.allocate((long) rows * columns, ALIGNMENT);
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < columns; column++) {
                int word = packed.getAtIndex(WORD, row * words + column / PER_WORD);
                int code = ((word >>> (column % PER_WORD * BITS)) & NIBBLE) - CODE_OFFSET;
                codes.set(ValueLayout.JAVA_BYTE, (long) row * columns + column, (byte) code);
            }
        }
        return new QuantizedMatrix(
                QuantFormat.W4A8, rows, columns, group, ScaleAxis.OUTPUT, codes, columns, 1, scales(name, arena));
    }

    private MemorySegment scales(String name, Arena arena) {
        String scaleName = scaleName(name);
        TensorInfo info = tensors.info(scaleName);
        MemorySegment scales = arena.allocate(info.elements() * Float.BYTES, ALIGNMENT);
        Widening.widen(info.type(), tensors.fileOf(scaleName).data(scaleName), info.elements(), scales);
        for (long i = 0; i < info.elements(); i++) {
            float scale = scales.getAtIndex(ValueLayout.JAVA_FLOAT, i);
            if (!(scale >= 0 && scale <= Float.MAX_VALUE)) {
                throw bad(scaleName, "scale " + scale + " at element " + i, "finite scales of 0 or more");
            }
        }
        return scales;
    }

    private MillraceException bad(String name, String found, String expected) {
        return InvalidCheckpoint.of(tensors.fileOf(name).path(), "tensor " + name + ": " + found, expected);
    }
}
