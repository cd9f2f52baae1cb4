package io.millrace.engine.checkpoint;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// Writes safetensors files for tests.
public final class SafetensorsWriter {
    private final Map<String, Entry> entries = new LinkedHashMap<>();

    private static final class Entry {
        private final TensorType type;
        private final List<Long> shape;
        private final byte[] data;

        Entry(TensorType type, List<Long> shape, byte[] data) {
            this.type = type;
            this.shape = shape;
            this.data = data;
        }
    }

    /// Adds or replaces a tensor.
    public SafetensorsWriter put(String name, TensorType type, List<Long> shape, byte[] data) {
        entries.put(name, new Entry(type, shape, data));
        return this;
    }

    /// Adds or replaces a float32 tensor.
    public SafetensorsWriter putFloats(String name, List<Long> shape, float... values) {
        ByteBuffer data = ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (float value : values) {
            data.putFloat(value);
        }
        return put(name, TensorType.F32, shape, data.array());
    }

    /// Forgets a tensor.
    public SafetensorsWriter remove(String name) {
        entries.remove(name);
        return this;
    }

    /// The file's bytes; the header is padded so that data starts at a multiple of 8 plus `skew`.
    public byte[] bytes(int skew) {
        StringBuilder header = new StringBuilder("{\"__metadata__\":{\"format\":\"pt\"}");
        long offset = 0;
        for (Map.Entry<String, Entry> each : entries.entrySet()) {
            Entry entry = each.getValue();
            header.append(",\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%d,%d]}"
                    .formatted(each.getKey(), entry.type, entry.shape, offset, offset + entry.data.length));
            offset += entry.data.length;
        }
        header.append('}');
        while (header.length() % 8 != skew) {
            header.append(' ');
        }
        return withHeader(header.toString(), data(Math.toIntExact(offset)));
    }

    /// A file of any header text and data.
    public static byte[] withHeader(String header, byte[] data) {
        byte[] json = header.getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(8 + json.length + data.length)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(json.length)
                .put(json)
                .put(data)
                .array();
    }

    /// Writes the file.
    public void write(Path file) {
        try {
            Files.write(file, bytes(0));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private byte[] data(int size) {
        ByteBuffer data = ByteBuffer.allocate(size);
        entries.values().forEach(entry -> data.put(entry.data));
        return data.array();
    }
}
