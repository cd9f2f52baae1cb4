package io.millrace.engine.pack;

import io.millrace.kernels.FloatPanels;
import io.millrace.kernels.IntegerPanels;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.ScaleAxis;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/// A packed matrix or vector in a pack file.
///
/// @param name       the tensor, or the part of it
/// @param format     number format
/// @param rows       outputs; 1 for a vector
/// @param columns    inputs
/// @param group      inputs that share a scale
/// @param axis       what scales belong to
/// @param layout     how the elements lie
/// @param offset     bytes from the start of the file
/// @param sizeBytes  bytes
record PackEntry(
        String name,
        QuantFormat format,
        int rows,
        int columns,
        int group,
        ScaleAxis axis,
        String layout,
        long offset,
        long sizeBytes) {
    private static final int GROUP_STEP = 8;

    static PackEntry of(String name, PackedMatrix matrix, long offset) {
        return new PackEntry(
                name,
                matrix.format(),
                matrix.outFeatures(),
                matrix.inFeatures(),
                matrix.group(),
                matrix.scaleAxis(),
                matrix.layout(),
                offset,
                matrix.data().byteSize());
    }

    /// The matrix in a mapping of the file.
    PackedMatrix in(MemorySegment file) {
        return new PackedMatrix(format, rows, columns, group, axis, layout, file.asSlice(offset, sizeBytes));
    }

    void write(DataOutputStream out) throws IOException {
        out.writeUTF(name);
        out.writeUTF(format.name());
        out.writeInt(rows);
        out.writeInt(columns);
        out.writeInt(group);
        out.writeUTF(axis.name());
        out.writeUTF(layout);
        out.writeLong(offset);
        out.writeLong(sizeBytes);
    }

    static PackEntry read(DataInputStream in) throws IOException {
        PackEntry entry = new PackEntry(
                in.readUTF(),
                PackIndex.constant(QuantFormat.values(), in.readUTF()),
                in.readInt(),
                in.readInt(),
                in.readInt(),
                PackIndex.constant(ScaleAxis.values(), in.readUTF()),
                in.readUTF(),
                in.readLong(),
                in.readLong());
        entry.check();
        return entry;
    }

    // Less than the layout takes would let kernels read beyond it.
    private void check() throws IOException {
        boolean grouped = format == QuantFormat.W4A8;
        if (rows < 1 || columns < 1 || (grouped ? group < GROUP_STEP || group % GROUP_STEP != 0 : group != columns)) {
            throw new IOException(name + ": shape [" + rows + ", " + columns + "], group " + group);
        }
        if (format.isInteger()) {
            PackedMatrix shape = new PackedMatrix(format, rows, columns, group, axis, layout, MemorySegment.NULL);
            if (!layout.equals(IntegerPanels.NAME) || sizeBytes != IntegerPanels.sizeBytes(shape)) {
                throw new IOException(name + ": " + layout + " of " + sizeBytes + " bytes (expected: "
                        + IntegerPanels.NAME + " of " + IntegerPanels.sizeBytes(shape) + ")");
            }
            return;
        }
        long needed = FloatPanels.of(layout)
                .map(panels -> panels.sizeBytes(format, rows, columns))
                .orElse((long) rows * columns * format.elementBytes());
        if (sizeBytes != needed) {
            throw new IOException(name + ": " + layout + " of " + sizeBytes + " bytes (expected: " + needed + ")");
        }
    }
}
