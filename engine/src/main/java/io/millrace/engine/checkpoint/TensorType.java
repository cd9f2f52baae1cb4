package io.millrace.engine.checkpoint;

import org.jspecify.annotations.Nullable;

/// Element types of safetensors files, by the names they have there.
public enum TensorType {
    BOOL(1),
    U8(1),
    I8(1),
    F8_E4M3(1),
    F8_E5M2(1),
    I16(2),
    U16(2),
    F16(2),
    BF16(2),
    I32(4),
    U32(4),
    F32(4),
    I64(8),
    U64(8),
    F64(8);

    private final int elementBytes;

    TensorType(int elementBytes) {
        this.elementBytes = elementBytes;
    }

    /// Bytes of one element.
    public int elementBytes() {
        return elementBytes;
    }

    static @Nullable TensorType named(String name) {
        for (TensorType type : values()) {
            if (type.name().equals(name)) {
                return type;
            }
        }
        return null;
    }
}
