package io.millrace.kernels;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// The layout of packed integer matrices, the same for every provider, so that one pack serves all:
/// panels of 16 outputs, streamed front to back.
///
/// - W8A8: a panel is `[quads][16 outputs][4 inputs]` bytes of `code + 128`, inputs padded with code 0
///   to a multiple of 4. After the last panel, on a 64-byte border: float32 scales `[panels * 16]`, or
///   by input `[quads * 4]`, padded with 0.
/// - W4A8: a panel is first its codes, `[octets][16 outputs][4]` bytes, each with `code + 8` of input
///   `i` of the octet's first half in the low nibble and of input `i + 4` in the high one, inputs
///   padded with code 0 to whole groups; then bfloat16 scales `[groups][16 outputs]`; padded to 64
///   bytes.
///
/// The padding keeps loops free of edges: padded outputs have scale 0, padded inputs have code 0.
public final class IntegerPanels {
    /// Name of the layout.
    public static final String NAME = "int-panels-16-v1";

    /// Outputs of a panel.
    public static final int OUTPUTS = 16;

    /// What is added to an int8 code.
    public static final int OFFSET_8 = 128;

    /// What is added to an int4 code.
    public static final int OFFSET_4 = 8;

    private static final int ALIGNMENT = 64;
    private static final int QUAD = 4;
    private static final int OCTET = 8;

    private IntegerPanels() {}

    /// Panels of a matrix.
    public static int panels(int outFeatures) {
        return Math.ceilDiv(outFeatures, OUTPUTS);
    }

    /// Inputs of a packed matrix, the padding included.
    public static int paddedInputs(PackedMatrix w) {
        return paddedInputs(w.format(), w.inFeatures(), w.group());
    }

    private static int paddedInputs(QuantFormat format, int inputs, int group) {
        int step = format == QuantFormat.W4A8 ? group : QUAD;
        return Math.ceilDiv(inputs, step) * step;
    }

    /// Bytes from one panel to the next.
    public static long panelBytes(PackedMatrix w) {
        return panelBytes(w.format(), w.inFeatures(), w.group());
    }

    private static long panelBytes(QuantFormat format, int inputs, int group) {
        long padded = paddedInputs(format, inputs, group);
        return switch (format) {
            case W8A8 -> padded * OUTPUTS;
            case W4A8 -> align(padded * OUTPUTS / 2 + padded / group * OUTPUTS * Short.BYTES);
            case F32, BF16 -> throw new IllegalArgumentException("integer panels of " + format);
        };
    }

    /// Bytes from the start of a W4A8 panel to its scales.
    public static long groupScaleOffset(PackedMatrix w) {
        return (long) paddedInputs(w) * OUTPUTS / 2;
    }

    /// Bytes from the start of the data of a W8A8 matrix to its scales.
    public static long scaleOffset(PackedMatrix w) {
        return panelBytes(w) * panels(w.outFeatures());
    }

    /// Bytes that a matrix needs once it is packed.
    public static long sizeBytes(QuantizedMatrix m) {
        return sizeBytes(m.format(), m.rows(), m.columns(), m.group(), m.scaleAxis());
    }

    /// Bytes that a matrix of that shape needs, whatever memory it has.
    public static long sizeBytes(PackedMatrix w) {
        return sizeBytes(w.format(), w.outFeatures(), w.inFeatures(), w.group(), w.scaleAxis());
    }

    private static long sizeBytes(QuantFormat format, int outputs, int inputs, int group, ScaleAxis axis) {
        long values = panelBytes(format, inputs, group) * panels(outputs);
        if (format == QuantFormat.W4A8) {
            return values;
        }
        long scales = axis == ScaleAxis.OUTPUT ? (long) panels(outputs) * OUTPUTS : paddedInputs(format, inputs, group);
        return align(values + scales * Float.BYTES);
    }

    private static long align(long bytes) {
        return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }

    /// Packs a matrix.
    public static PackedMatrix pack(QuantizedMatrix m, Arena arena) {
        MemorySegment data = arena.allocate(sizeBytes(m), ALIGNMENT);
        PackedMatrix packed = new PackedMatrix(m.format(), m.rows(), m.columns(), m.group(), m.scaleAxis(), NAME, data);
        switch (m.format()) {
            case W8A8 -> packBytes(m, packed);
            case W4A8 -> packNibbles(m, packed);
            case F32, BF16 -> throw new IllegalArgumentException("integer panels of " + m.format());
        }
        return packed;
    }

    private static void packBytes(QuantizedMatrix m, PackedMatrix w) {
        MemorySegment data = w.data();
        data.asSlice(0, scaleOffset(w)).fill((byte) OFFSET_8);
        for (int row = 0; row < m.rows(); row++) {
            long panel = row / OUTPUTS * panelBytes(w) + (long) row % OUTPUTS * QUAD;
            for (int column = 0; column < m.columns(); column++) {
                int code = m.codes().get(JAVA_BYTE, row * m.rowStride() + column * m.columnStride());
                long at = panel + (long) column / QUAD * (OUTPUTS * QUAD) + column % QUAD;
                data.set(JAVA_BYTE, at, (byte) (code + OFFSET_8));
            }
        }
        int scales = m.scaleAxis() == ScaleAxis.OUTPUT ? m.rows() : m.columns();
        MemorySegment.copy(m.scales(), 0, data, scaleOffset(w), (long) scales * Float.BYTES);
    }

    private static void packNibbles(QuantizedMatrix m, PackedMatrix w) {
        MemorySegment data = w.data();
        long scalesFrom = groupScaleOffset(w);
        for (int panel = 0; panel < panels(m.rows()); panel++) {
            data.asSlice(panel * panelBytes(w), scalesFrom).fill((byte) (OFFSET_4 << 4 | OFFSET_4));
        }
        for (int row = 0; row < m.rows(); row++) {
            long panel = row / OUTPUTS * panelBytes(w);
            for (int column = 0; column < m.columns(); column++) {
                int code = m.codes().get(JAVA_BYTE, row * m.rowStride() + column * m.columnStride()) + OFFSET_4;
                int inOctet = column % OCTET;
                long at =
                        panel + (long) column / OCTET * (OUTPUTS * QUAD) + (long) row % OUTPUTS * QUAD + inOctet % QUAD;
                int old = data.get(JAVA_BYTE, at);
                int now = inOctet < QUAD ? (old & 0xf0) | code : (old & 0x0f) | (code << 4);
                data.set(JAVA_BYTE, at, (byte) now);
            }
            for (int group = 0; group < m.groups(); group++) {
                float scale = m.scales().get(JAVA_FLOAT_UNALIGNED, ((long) row * m.groups() + group) * Float.BYTES);
                long at = panel + scalesFrom + ((long) group * OUTPUTS + row % OUTPUTS) * Short.BYTES;
                data.set(JAVA_SHORT_UNALIGNED, at, Bfloat16.round(scale));
            }
        }
    }

    /// Code of an element of a packed matrix.
    public static int code(PackedMatrix w, int output, int input) {
        long panel = output / OUTPUTS * panelBytes(w);
        long lane = (long) output % OUTPUTS * QUAD;
        if (w.format() == QuantFormat.W8A8) {
            long at = panel + (long) input / QUAD * (OUTPUTS * QUAD) + lane + input % QUAD;
            return Byte.toUnsignedInt(w.data().get(JAVA_BYTE, at)) - OFFSET_8;
        }
        int inOctet = input % OCTET;
        int pair = w.data().get(JAVA_BYTE, panel + (long) input / OCTET * (OUTPUTS * QUAD) + lane + inOctet % QUAD);
        return (inOctet < QUAD ? pair & 15 : pair >> 4 & 15) - OFFSET_4;
    }

    /// Scale of a W8A8 output or input, whichever the matrix has.
    public static float scale(PackedMatrix w, int index) {
        return w.data().get(JAVA_FLOAT_UNALIGNED, scaleOffset(w) + (long) index * Float.BYTES);
    }

    /// Scale of a group of a W4A8 output.
    public static float groupScale(PackedMatrix w, int output, int group) {
        long at = output / OUTPUTS * panelBytes(w)
                + groupScaleOffset(w)
                + ((long) group * OUTPUTS + output % OUTPUTS) * Short.BYTES;
        return Bfloat16.widen(w.data().get(JAVA_SHORT_UNALIGNED, at));
    }
}
