package io.millrace.engine.pack;

import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.QuantFormat;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// All weights of a model in the order in which they are packed. Made by a [PlanRecorder].
public final class PackPlan {
    /// Layout of a vector of float32.
    static final String VECTOR_LAYOUT = "vector";

    /// Layout of a matrix that is kept row by row.
    static final String ROWS_LAYOUT = "rows";

    private final List<PackJob> jobs;

    PackPlan(List<PackJob> jobs) {
        this.jobs = List.copyOf(jobs);
        Set<String> names = new HashSet<>();
        for (PackJob job : jobs) {
            String name = switch (job) {
                case PackJob.Matrix matrix -> matrix.spec().name();
                case PackJob.Rows rows -> rows.spec().name();
                case PackJob.Vector vector -> vector.spec().name();
            };
            if (!names.add(name)) {
                throw new IllegalArgumentException("tensor " + name + " is asked for twice (expected: once)");
            }
        }
    }

    List<PackJob> jobs() {
        return jobs;
    }

    /// Weights of all matrices and vectors together.
    public long elements() {
        return jobs.stream().mapToLong(PackJob::elements).sum();
    }

    /// Bytes that they take at least once they are packed: layouts may pad them.
    ///
    /// @param stored  format of matrices that are packed as their source has them
    public long leastBytes(QuantFormat stored) {
        long bytes = 0;
        for (PackJob job : jobs) {
            bytes += switch (job) {
                case PackJob.Matrix matrix -> leastBytes(matrix.spec(), stored);
                case PackJob.Rows rows -> leastBytes(rows.spec(), stored);
                case PackJob.Vector vector -> vector.elements() * Float.BYTES;
            };
        }
        return bytes;
    }

    private static long leastBytes(MatrixSpec spec, QuantFormat stored) {
        long elements = (long) spec.rows() * spec.columns();
        QuantFormat format = spec.format() == null ? stored : spec.format();
        return switch (format) {
            case F32, BF16 -> elements * format.elementBytes();
            case W8A8 -> elements + (long) spec.rows() * Float.BYTES;
            case W4A8 -> elements / 2 + elements / spec.int4Group() * Short.BYTES;
        };
    }

    /// Formats that are asked for by name.
    Set<QuantFormat> formats() {
        Set<QuantFormat> formats = EnumSet.noneOf(QuantFormat.class);
        for (PackJob job : jobs) {
            if (job instanceof PackJob.Matrix matrix && matrix.spec().format() != null) {
                formats.add(matrix.spec().format());
            }
        }
        return formats;
    }

    /// What keeps packed weights from being the ones planned; empty if nothing does.
    Optional<String> mismatch(Map<String, PackedMatrix> packed) {
        int wanted = 0;
        for (PackJob job : jobs) {
            Optional<String> found = switch (job) {
                case PackJob.Matrix matrix -> {
                    wanted += matrix.parts().size();
                    yield mismatch(matrix, packed);
                }
                case PackJob.Rows rows -> {
                    wanted++;
                    MatrixSpec spec = rows.spec();
                    yield mismatch(spec.name(), spec.rows(), spec.columns(), null, packed)
                            .or(() -> plain(spec.name(), ROWS_LAYOUT, packed));
                }
                case PackJob.Vector vector -> {
                    wanted++;
                    VectorSpec spec = vector.spec();
                    yield mismatch(spec.name(), 1, spec.size(), QuantFormat.F32, packed)
                            .or(() -> plain(spec.name(), VECTOR_LAYOUT, packed));
                }
            };
            if (found.isPresent()) {
                return found;
            }
        }
        return packed.size() == wanted
                ? Optional.empty()
                : Optional.of(packed.size() + " packed tensors (expected: " + wanted + ")");
    }

    private static Optional<String> mismatch(PackJob.Matrix job, Map<String, PackedMatrix> packed) {
        MatrixSpec spec = job.spec();
        for (MatrixPart part : job.parts()) {
            Optional<String> found = mismatch(
                    part.entryName(spec), part.outFeatures(spec), part.inFeatures(spec), spec.format(), packed);
            if (found.isPresent()) {
                return found;
            }
        }
        return Optional.empty();
    }

    private static Optional<String> mismatch(
            String name, int rows, int columns, @Nullable QuantFormat format, Map<String, PackedMatrix> packed) {
        PackedMatrix found = packed.get(name);
        if (found == null) {
            return Optional.of("no " + name);
        }
        if (found.outFeatures() != rows || found.inFeatures() != columns) {
            return Optional.of(name + " of shape [" + found.outFeatures() + ", " + found.inFeatures() + "] (expected: ["
                    + rows + ", " + columns + "])");
        }
        return format == null || format == found.format()
                ? Optional.empty()
                : Optional.of(name + " in " + found.format() + " (expected: " + format + ")");
    }

    private static Optional<String> plain(String name, String layout, Map<String, PackedMatrix> packed) {
        PackedMatrix found = packed.get(name);
        return found != null && found.layout().equals(layout) && !found.format().isInteger()
                ? Optional.empty()
                : Optional.of(name + " is packed (expected: " + layout + ")");
    }
}
