package io.millrace.engine.checkpoint;

import java.util.List;

/// One entry of a safetensors header, checked: the byte range lies in the file and fits type and shape.
///
/// @param name       unique in its file
/// @param type       element type
/// @param shape      extents, outermost first; empty for a scalar
/// @param offset     bytes from the start of the file to the first element
/// @param sizeBytes  bytes of all elements
public record TensorInfo(String name, TensorType type, List<Long> shape, long offset, long sizeBytes) {
    public TensorInfo {
        shape = List.copyOf(shape);
    }

    /// Number of elements.
    public long elements() {
        return sizeBytes / type.elementBytes();
    }
}
