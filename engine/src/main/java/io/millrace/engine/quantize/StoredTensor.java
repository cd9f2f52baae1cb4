package io.millrace.engine.quantize;

import io.millrace.engine.checkpoint.TensorType;
import java.util.List;

/// A tensor to be written.
///
/// @param name   in the file
/// @param type   of its elements
/// @param shape  outermost first
record StoredTensor(String name, TensorType type, List<Long> shape) {
    StoredTensor {
        shape = List.copyOf(shape);
    }

    long sizeBytes() {
        long bytes = type.elementBytes();
        for (long extent : shape) {
            bytes = Math.multiplyExact(bytes, extent);
        }
        return bytes;
    }
}
