package io.millrace.kernels;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// The layout of packed float matrices: panels of some outputs, each a stream over the inputs, `[out /
/// lanes][in] [lanes]`; in BF16 two inputs share a lane, `[out / lanes][in / 2][lanes][2]`. The last
/// panel and, in BF16, the last input of an odd number are filled with zeros.
///
/// @param lanes  outputs of a panel
public record FloatPanels(int lanes) {
    private static final int ALIGNMENT = 64;
    private static final Pattern LAYOUT = Pattern.compile("float-panels-([1-9][0-9]{0,3})");

    /// Name of the layout.
    public String layout() {
        return "float-panels-" + lanes;
    }

    /// Bytes from one panel to the next.
    public long panelBytes(QuantFormat format, int inFeatures) {
        return switch (format) {
            case F32 -> (long) inFeatures * lanes * Float.BYTES;
            case BF16 -> (inFeatures + 1L) / 2 * lanes * Float.BYTES;
            case W8A8, W4A8 -> throw notFloats(format);
        };
    }

    /// Bytes of a packed matrix.
    public long sizeBytes(QuantFormat format, int rows, int columns) {
        return Math.ceilDiv(rows, lanes) * panelBytes(format, columns);
    }

    /// The layout of a name; empty if it is another kind's.
    public static Optional<FloatPanels> of(String layout) {
        Matcher panels = LAYOUT.matcher(layout);
        return panels.matches() ? Optional.of(new FloatPanels(Integer.parseInt(panels.group(1)))) : Optional.empty();
    }

    /// Packs a matrix.
    public PackedMatrix pack(MatrixView matrix, Arena arena) {
        long panel = panelBytes(matrix.format(), matrix.columns());
        MemorySegment data = arena.allocate(sizeBytes(matrix.format(), matrix.rows(), matrix.columns()), ALIGNMENT);
        float[] row = new float[matrix.columns()];
        for (int r = 0; r < matrix.rows(); r++) {
            matrix.copyRow(r, row);
            long to = r / lanes * panel + (long) r % lanes * Float.BYTES;
            switch (matrix.format()) {
                case F32 -> packFloats(row, data, to);
                case BF16 -> packPairs(row, data, to);
                case W8A8, W4A8 -> throw notFloats(matrix.format());
            }
        }
        return new PackedMatrix(matrix.format(), matrix.rows(), matrix.columns(), layout(), data);
    }

    private void packFloats(float[] row, MemorySegment data, long to) {
        long step = (long) lanes * Float.BYTES;
        for (int k = 0; k < row.length; k++) {
            data.set(JAVA_FLOAT_UNALIGNED, to + k * step, row[k]);
        }
    }

    private void packPairs(float[] row, MemorySegment data, long to) {
        long step = (long) lanes * Float.BYTES;
        for (int k = 0; k < row.length; k++) {
            data.set(JAVA_SHORT_UNALIGNED, to + k / 2 * step + k % 2 * 2L, Bfloat16.round(row[k]));
        }
    }

    /// An element of a packed matrix; slow, for checks.
    public float element(PackedMatrix matrix, int output, int input) {
        long at =
                output / lanes * panelBytes(matrix.format(), matrix.inFeatures()) + (long) output % lanes * Float.BYTES;
        long step = (long) lanes * Float.BYTES;
        return switch (matrix.format()) {
            case F32 -> matrix.data().get(JAVA_FLOAT_UNALIGNED, at + input * step);
            case BF16 ->
                Bfloat16.widen(matrix.data().get(JAVA_SHORT_UNALIGNED, at + input / 2 * step + input % 2 * 2L));
            case W8A8, W4A8 -> throw notFloats(matrix.format());
        };
    }

    private static IllegalStateException notFloats(QuantFormat format) {
        return new IllegalStateException("float panels of " + format);
    }
}
