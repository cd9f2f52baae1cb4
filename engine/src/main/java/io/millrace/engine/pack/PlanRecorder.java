package io.millrace.engine.pack;

import io.millrace.kernels.MatrixView;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.QuantFormat;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Writes down which weights a model asks for. Its answers have the right shapes, its vectors are zeros
/// and its matrices have no data.
public final class PlanRecorder implements WeightSlots {
    private static final String NO_DATA = "planned";

    private final List<PackJob> jobs = new ArrayList<>();
    private final List<MatrixPart> parts = new ArrayList<>();
    private String section = "";
    private @Nullable MatrixSpec open;

    @Override
    public void section(String what) {
        closeMatrix();
        section = what;
    }

    @Override
    public PackedMatrix matrix(MatrixSpec spec, MatrixPart part) {
        if (part.fromRow() + part.rows() > spec.rows()) {
            throw new IllegalArgumentException(part.entryName(spec) + " (expected: inside " + spec.rows() + " rows)");
        }
        if (!spec.equals(open)) {
            closeMatrix();
            open = spec;
        }
        parts.add(part);
        QuantFormat format = spec.format() == null ? QuantFormat.F32 : spec.format();
        return new PackedMatrix(format, part.outFeatures(spec), part.inFeatures(spec), NO_DATA, MemorySegment.NULL);
    }

    @Override
    public MatrixView rows(MatrixSpec spec) {
        closeMatrix();
        jobs.add(new PackJob.Rows(section, spec));
        return MatrixView.rowMajor(QuantFormat.F32, MemorySegment.ofArray(new float[1]), 1, 1);
    }

    @Override
    public MemorySegment vector(VectorSpec spec) {
        closeMatrix();
        jobs.add(new PackJob.Vector(section, spec));
        return floats(spec.size());
    }

    @Override
    public MemorySegment floats(int count) {
        return MemorySegment.ofArray(new float[count]);
    }

    /// What was asked for.
    public PackPlan plan() {
        closeMatrix();
        return new PackPlan(jobs);
    }

    private void closeMatrix() {
        if (open != null) {
            jobs.add(new PackJob.Matrix(section, open, parts));
            parts.clear();
            open = null;
        }
    }
}
