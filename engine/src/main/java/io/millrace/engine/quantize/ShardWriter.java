package io.millrace.engine.quantize;

import io.millrace.engine.file.FileFault;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/// Writes tensors into safetensors files of bounded size: `model.safetensors`, or shards with
/// `model.safetensors.index.json`. All tensors are announced before the first is written, and are written
/// in that order.
final class ShardWriter implements AutoCloseable {
    private static final String SINGLE = "model.safetensors";
    private static final int ALIGNMENT = 64;
    private static final long CHUNK_BYTES = 1 << 26;
    private static final long DISK_BLOCK = 4096;

    private final Path directory;
    private final List<List<StoredTensor>> shards = new ArrayList<>();
    private final JsonMapper json = new JsonMapper();
    private long totalBytes;
    private int shard;
    private int tensor;
    private @Nullable FileChannel channel;

    /// @param tensors        all that will be written, in order
    /// @param maxShardBytes  data of a file, unless one tensor alone is larger
    ShardWriter(Path directory, List<StoredTensor> tensors, long maxShardBytes) {
        this.directory = directory;
        List<StoredTensor> current = new ArrayList<>();
        long bytes = 0;
        for (StoredTensor each : tensors) {
            if (!current.isEmpty() && bytes + each.sizeBytes() > maxShardBytes) {
                shards.add(current);
                current = new ArrayList<>();
                bytes = 0;
            }
            current.add(each);
            bytes += each.sizeBytes();
            totalBytes += each.sizeBytes();
        }
        shards.add(current);
    }

    /// Bytes of all tensors.
    long totalBytes() {
        return totalBytes;
    }

    /// Bytes of all files, as a disk holds them.
    long fileBytes() {
        long bytes = shards.size() == 1 ? 0 : onDisk(index().length);
        for (int i = 0; i < shards.size(); i++) {
            long data =
                    shards.get(i).stream().mapToLong(StoredTensor::sizeBytes).sum();
            bytes += onDisk(header(i).remaining() + data);
        }
        return bytes;
    }

    /// Bytes that a file takes on a disk with blocks of the usual size.
    static long onDisk(long bytes) {
        return Math.ceilDiv(bytes, DISK_BLOCK) * DISK_BLOCK;
    }

    /// Writes the next tensor.
    void write(String name, MemorySegment data) throws IOException {
        if (channel == null) {
            channel = open();
        }
        StoredTensor expected = shards.get(shard).get(tensor);
        if (!expected.name().equals(name) || expected.sizeBytes() != data.byteSize()) {
            throw new IllegalStateException(name + " of " + data.byteSize() + " bytes (expected: " + expected.name()
                    + " of " + expected.sizeBytes() + ")");
        }
        for (long from = 0; from < data.byteSize(); from += CHUNK_BYTES) {
            writeAll(
                    channel,
                    data.asSlice(from, Math.min(CHUNK_BYTES, data.byteSize() - from))
                            .asByteBuffer());
        }
        if (++tensor == shards.get(shard).size()) {
            end(channel);
            channel = null;
            tensor = 0;
            shard++;
        }
    }

    private FileChannel open() throws IOException {
        FileChannel opened = FileChannel.open(file(), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        channel = opened;
        writeAll(opened, header(shard));
        return opened;
    }

    private ByteBuffer header(int number) {
        ObjectNode header = json.createObjectNode();
        header.putObject("__metadata__").put("format", "pt");
        long offset = 0;
        for (StoredTensor each : shards.get(number)) {
            ObjectNode entry = header.putObject(each.name());
            entry.put("dtype", each.type().name());
            ArrayNode shape = entry.putArray("shape");
            each.shape().forEach(shape::add);
            entry.putArray("data_offsets").add(offset).add(offset + each.sizeBytes());
            offset += each.sizeBytes();
        }
        byte[] text = header.toString().getBytes(StandardCharsets.UTF_8);
        int padded = (text.length + Long.BYTES + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT - Long.BYTES;
        ByteBuffer bytes = ByteBuffer.allocate(Long.BYTES + padded)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(padded)
                .put(text);
        while (bytes.hasRemaining()) {
            bytes.put((byte) ' ');
        }
        return bytes.flip();
    }

    /// Writes the index, if there are several files. All tensors are written.
    void finish() throws IOException {
        if (shard != shards.size()) {
            throw new IllegalStateException(
                    "shard " + shard + " is not complete (expected: all " + shards.size() + ")");
        }
        if (shards.size() == 1) {
            return;
        }
        Path file = directory.resolve("model.safetensors.index.json");
        try {
            Files.write(file, index());
        } catch (IOException e) {
            throw FileFault.named(file, e);
        }
    }

    private byte[] index() {
        ObjectNode index = json.createObjectNode();
        index.putObject("metadata").put("total_size", totalBytes);
        ObjectNode map = index.putObject("weight_map");
        for (int i = 0; i < shards.size(); i++) {
            for (StoredTensor each : shards.get(i)) {
                map.put(each.name(), fileName(i));
            }
        }
        return json.writeValueAsBytes(index);
    }

    private String fileName(int number) {
        return shards.size() == 1
                ? SINGLE
                : String.format(Locale.ROOT, "model-%05d-of-%05d.safetensors", number + 1, shards.size());
    }

    private Path file() {
        return directory.resolve(fileName(shard));
    }

    private void writeAll(FileChannel to, ByteBuffer bytes) throws IOException {
        try {
            while (bytes.hasRemaining()) {
                to.write(bytes);
            }
        } catch (IOException e) {
            throw FileFault.named(file(), e);
        }
    }

    private void end(FileChannel written) throws IOException {
        try (written) {
            written.force(true);
        } catch (IOException e) {
            throw FileFault.named(file(), e);
        }
    }

    /// Closes the file that is open. Idempotent.
    @Override
    public void close() throws IOException {
        if (channel != null) {
            channel.close();
            channel = null;
        }
    }
}
