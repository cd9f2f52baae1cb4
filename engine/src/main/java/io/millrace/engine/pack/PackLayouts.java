package io.millrace.engine.pack;

import io.millrace.kernels.Kernels;
import io.millrace.kernels.MatrixView;
import io.millrace.kernels.QuantFormat;
import io.millrace.kernels.WeightQuantizer;
import io.millrace.kernels.WeightSource;
import java.lang.foreign.Arena;
import java.util.EnumSet;
import java.util.Set;

/// Names the layouts that kernels pack into, found out by packing a matrix of zeros in each format.
/// Floats are always asked for, integers where they are wanted: their layout is the same for every
/// provider.
final class PackLayouts {
    private static final int ROWS = 1;
    private static final int COLUMNS = 8;

    private PackLayouts() {}

    static String of(Kernels kernels, Set<QuantFormat> wanted) {
        Set<QuantFormat> formats = EnumSet.of(QuantFormat.F32, QuantFormat.BF16);
        formats.addAll(wanted);
        StringBuilder names = new StringBuilder();
        try (Arena arena = Arena.ofConfined()) {
            MatrixView zeros = MatrixView.rowMajor(
                    QuantFormat.F32, arena.allocate((long) ROWS * COLUMNS * Float.BYTES, Float.BYTES), ROWS, COLUMNS);
            for (QuantFormat format : formats) {
                WeightSource probe = switch (format) {
                    case F32 -> zeros;
                    case BF16 -> MatrixView.rowMajor(format, zeros.data(), ROWS, COLUMNS);
                    case W8A8 -> WeightQuantizer.int8(zeros, arena);
                    case W4A8 -> WeightQuantizer.int4(zeros, COLUMNS, arena);
                };
                names.append(names.isEmpty() ? "" : ",")
                        .append(format)
                        .append('=')
                        .append(kernels.pack(probe, arena).layout());
            }
        }
        return names.toString();
    }
}
