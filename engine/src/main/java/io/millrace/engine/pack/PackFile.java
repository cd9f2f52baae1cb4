package io.millrace.engine.pack;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.millrace.engine.file.RegularFile;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.nativecode.LargePages;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/// A pack file, mapped read-only, whose header and index are sound.
final class PackFile implements AutoCloseable {
    private final Path path;
    private final Arena arena;
    private final MemorySegment mapping;
    private final PackIndex index;
    private final long contentEnd;

    private PackFile(Path path, Arena arena, MemorySegment mapping, PackIndex index, long contentEnd) {
        this.path = path;
        this.arena = arena;
        this.mapping = mapping;
        this.index = index;
        this.contentEnd = contentEnd;
    }

    /// Maps a file and reads its index; the content is not looked at.
    ///
    /// @throws java.nio.file.NoSuchFileException if it is not there
    /// @throws IOException if it is no sound pack, saying why
    @SuppressWarnings("MustBeClosedChecker") // closed below if opening fails, otherwise by close()
    static PackFile open(Path path) throws IOException {
        Arena arena = Arena.ofShared();
        boolean opened = false;
        try (FileChannel channel = RegularFile.open(path, StandardOpenOption.READ)) {
            MemorySegment mapping = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
            LargePages.advise(mapping);
            PackHeader header = PackHeader.decode(mapping);
            MemorySegment table = mapping.asSlice(header.indexOffset(), header.indexBytes());
            if (PackHeader.crc(table.asByteBuffer()) != header.indexChecksum()) {
                throw new IOException("index with a wrong checksum");
            }
            PackIndex index = PackIndex.decode(table.toArray(JAVA_BYTE), header.indexOffset());
            PackFile file = new PackFile(path, arena, mapping, index, header.indexOffset());
            opened = true;
            return file;
        } finally {
            if (!opened) {
                arena.close();
            }
        }
    }

    Path path() {
        return path;
    }

    PackIndex index() {
        return index;
    }

    long sizeBytes() {
        return mapping.byteSize();
    }

    /// Reads the whole content and compares checksums.
    ///
    /// @param threads  that share the work
    /// @throws IOException if the content is damaged
    void verify(int threads) throws IOException {
        int chunks = index.checksums().size();
        try (ExecutorService executor = Executors.newFixedThreadPool(
                Math.max(1, Math.min(threads, chunks)),
                Thread.ofPlatform().daemon().name("millrace-pack-check-", 0).factory())) {
            List<Future<Boolean>> sound = new ArrayList<>();
            for (int chunk = 0; chunk < chunks; chunk++) {
                int number = chunk;
                sound.add(executor.submit(() -> isSound(number)));
            }
            for (int chunk = 0; chunk < chunks; chunk++) {
                if (!sound.get(chunk).get()) {
                    throw new IOException("content with a wrong checksum in chunk " + chunk + " of " + chunks);
                }
            }
        } catch (ExecutionException e) {
            // A file that shrinks while it is read, or a disk that fails.
            throw new IOException("content cannot be read: " + e.getCause(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    private boolean isSound(int chunk) {
        long from = PackHeader.BYTES + (long) chunk * PackIndex.CHUNK_BYTES;
        ByteBuffer bytes = mapping.asSlice(from, Math.min(PackIndex.CHUNK_BYTES, contentEnd - from))
                .asByteBuffer();
        return PackHeader.crc(bytes) == index.checksums().get(chunk);
    }

    /// Its matrices by name, in the mapping.
    Map<String, PackedMatrix> matrices() {
        Map<String, PackedMatrix> result =
                LinkedHashMap.newLinkedHashMap(index.entries().size());
        for (PackEntry entry : index.entries()) {
            result.put(entry.name(), entry.in(mapping));
        }
        return result;
    }

    /// Unmaps the file. Idempotent.
    @Override
    public void close() {
        if (arena.scope().isAlive()) {
            arena.close();
        }
    }
}
