package io.millrace.engine.checkpoint;

import io.millrace.engine.file.FileFault;
import io.millrace.engine.file.RegularFile;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;

/// One safetensors file, mapped read-only. The header is checked completely before any tensor is handed
/// out; data is read when it is touched. Thread-safe.
public final class SafetensorsFile implements AutoCloseable {
    private final Path path;
    private final Arena arena;
    private final MemorySegment mapping;
    private final Map<String, TensorInfo> tensors;

    private SafetensorsFile(Path path, Arena arena, MemorySegment mapping, Map<String, TensorInfo> tensors) {
        this.path = path;
        this.arena = arena;
        this.mapping = mapping;
        this.tensors = tensors;
    }

    /// Maps `path` and checks its header.
    ///
    /// @throws io.millrace.engine.error.MillraceException `INVALID_CHECKPOINT`, naming file and tensor
    @SuppressWarnings("MustBeClosedChecker") // Closed below if opening fails, otherwise by close().
    public static SafetensorsFile open(Path path) {
        Arena arena = Arena.ofShared();
        boolean opened = false;
        try (FileChannel channel = RegularFile.open(path, StandardOpenOption.READ)) {
            MemorySegment mapping = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
            SafetensorsFile file = new SafetensorsFile(path, arena, mapping, SafetensorsHeader.read(path, mapping));
            opened = true;
            return file;
        } catch (IOException e) {
            throw InvalidCheckpoint.of(path, FileFault.found(e), "a readable file", e);
        } finally {
            if (!opened) {
                arena.close();
            }
        }
    }

    public Path path() {
        return path;
    }

    /// All tensors by name, in the order of their data.
    public Map<String, TensorInfo> tensors() {
        return tensors;
    }

    /// The bytes of a tensor, little-endian, row-major, read-only; valid until [#close]. They start at
    /// any address: use unaligned layouts.
    public MemorySegment data(String name) {
        TensorInfo info = tensors.get(name);
        if (info == null) {
            throw InvalidCheckpoint.of(path, "no tensor " + InvalidCheckpoint.quote(name), "a tensor of that name");
        }
        return mapping.asSlice(info.offset(), info.sizeBytes());
    }

    /// Unmaps the file. Idempotent.
    @Override
    public void close() {
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }
}
