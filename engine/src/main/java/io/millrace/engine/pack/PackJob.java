package io.millrace.engine.pack;

import java.util.List;

/// One tensor of a model and what is made of it.
sealed interface PackJob {
    /// The part of the model it belongs to.
    String section();

    /// Elements to read.
    long elements();

    /// A matrix whose parts are packed each on its own.
    record Matrix(String section, MatrixSpec spec, List<MatrixPart> parts) implements PackJob {
        public Matrix {
            parts = List.copyOf(parts);
        }

        @Override
        public long elements() {
            return (long) spec.rows() * spec.columns();
        }
    }

    /// A matrix that stays as it is.
    record Rows(String section, MatrixSpec spec) implements PackJob {
        @Override
        public long elements() {
            return (long) spec.rows() * spec.columns();
        }
    }

    /// A vector.
    record Vector(String section, VectorSpec spec) implements PackJob {
        @Override
        public long elements() {
            return spec.size();
        }
    }
}
