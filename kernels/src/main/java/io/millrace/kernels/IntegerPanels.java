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
/// - W4A8: a panel is a row of pairs of groups, each first the bfloat16 scales of both,
///   `[2][16 outputs]`, then their codes, `[octets][16 outputs][4]` bytes, each with `code + 8` of input
///   `i` of the octet's first half in the low nibble and of input `i + 4` in the high one, inputs
///   padded with code 0 to whole groups. The last group of an odd number has the scales of a pair.
///
/// The padding keeps loops free of edges: padded outputs have scale 0, padded inputs have code 0. Scales
/// of groups lie beside their codes so that memory is read in one stream, and in whole lines.
public final class IntegerPanels {
    /// Name of the layout.
    public static final String NAME = "int-panels-16-v2";

    /// Outputs of a panel.
    public static final int OUTPUTS = 16;

    /// What is added to an int8 code.
    public static final int OFFSET_8 = 128;

    /// What is added to an int4 code.
    public static final int OFFSET_4 = 8;

    // Bytes of the scales of a pair of W4A8 groups.
    private static final int PAIR_SCALES = 2 * OUTPUTS * Short.BYTES;

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
            case W4A8 -> align(padded * OUTPUTS / 2 + Math.ceilDiv(padded / group, 2) * PAIR_SCALES);
            case F32, BF16 -> throw new IllegalArgumentException("integer panels of " + format);
        };
    }

    /// Bytes from the start of a W4A8 panel to the scales of a group.
    ///
    /// @param number  of the group in its panel
    /// @param size    inputs of a group
    public static long groupScales(int number, int size) {
        return pair(number, size) + number % 2 * (PAIR_SCALES / 2L);
    }

    /// Bytes from the start of a W4A8 panel to the codes of a group.
    ///
    /// @param number  of the group in its panel
    /// @param size    inputs of a group
    public static long groupCodes(int number, int size) {
        return pair(number, size) + PAIR_SCALES + number % 2 * ((long) size * OUTPUTS / 2);
    }

    private static long pair(int number, int size) {
        return number / 2 * (PAIR_SCALES + (long) size * OUTPUTS);
    }

    // Bytes from the start of a panel to the scale of an output of a group.
    private static long scaleOf(PackedMatrix w, int group, int lane) {
        return groupScales(group, w.group()) + (long) lane * Short.BYTES;
    }

    // Bytes from the start of a panel to the byte that holds a code.
    private static long nibble(PackedMatrix w, int lane, int input) {
        long octet = input % w.group() / OCTET * (long) (OUTPUTS * QUAD);
        return groupCodes(input / w.group(), w.group()) + octet + (long) lane * QUAD + input % QUAD;
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
        byte zeros = (byte) (OFFSET_4 << 4 | OFFSET_4);
        int groups = Math.ceilDiv(m.columns(), m.group());
        for (int panel = 0; panel < panels(m.rows()); panel++) {
            for (int group = 0; group < groups; group++) {
                long from = panel * panelBytes(w) + groupCodes(group, w.group());
                data.asSlice(from, (long) m.group() * OUTPUTS / 2).fill(zeros);
            }
        }
        for (int row = 0; row < m.rows(); row++) {
            long panel = row / OUTPUTS * panelBytes(w);
            for (int column = 0; column < m.columns(); column++) {
                int code = m.codes().get(JAVA_BYTE, row * m.rowStride() + column * m.columnStride()) + OFFSET_4;
                long at = panel + nibble(w, row % OUTPUTS, column);
                int old = data.get(JAVA_BYTE, at);
                int now = column % OCTET < QUAD ? (old & 0xf0) | code : (old & 0x0f) | (code << 4);
                data.set(JAVA_BYTE, at, (byte) now);
            }
            for (int group = 0; group < m.groups(); group++) {
                float scale = m.scales().get(JAVA_FLOAT_UNALIGNED, ((long) row * m.groups() + group) * Float.BYTES);
                data.set(JAVA_SHORT_UNALIGNED, panel + scaleOf(w, group, row % OUTPUTS), Bfloat16.round(scale));
            }
        }
    }

    /// Code of an element of a packed matrix.
    public static int code(PackedMatrix w, int output, int input) {
        long panel = output / OUTPUTS * panelBytes(w);
        int lane = output % OUTPUTS;
        if (w.format() == QuantFormat.W8A8) {
            long at = panel + (long) input / QUAD * (OUTPUTS * QUAD) + (long) lane * QUAD + input % QUAD;
            return Byte.toUnsignedInt(w.data().get(JAVA_BYTE, at)) - OFFSET_8;
        }
        int both = w.data().get(JAVA_BYTE, panel + nibble(w, lane, input));
        return (input % OCTET < QUAD ? both & 15 : both >> 4 & 15) - OFFSET_4;
    }

    /// Scale of a W8A8 output or input, whichever the matrix has.
    public static float scale(PackedMatrix w, int index) {
        return w.data().get(JAVA_FLOAT_UNALIGNED, scaleOffset(w) + (long) index * Float.BYTES);
    }

    /// Scale of a group of a W4A8 output.
    public static float groupScale(PackedMatrix w, int output, int group) {
        long at = output / OUTPUTS * panelBytes(w) + scaleOf(w, group, output % OUTPUTS);
        return Bfloat16.widen(w.data().get(JAVA_SHORT_UNALIGNED, at));
    }
}
