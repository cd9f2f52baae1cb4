package io.millrace.engine.pack;

import io.millrace.engine.file.FileFault;
import io.millrace.kernels.PackedMatrix;
import io.millrace.kernels.nativecode.LargePages;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.CRC32C;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Writes a pack file under a temporary name of its own and renames it when all of it is on the disk. It
/// writes by system calls and not through a mapping: a full disk is then an error and not a signal that
/// ends the process. The temporary file is locked as long as its writer lives, so that what a killed one
/// left can be told apart and removed.
final class PackWriter implements PackSink, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PackWriter.class);
    private static final int MAX_WRITE = 64 << 20;
    private static final String TEMPORARY_SUFFIX = ".tmp";

    /// Names of the files this process is writing. Its process id would not do: in a container every start
    /// has the same. And their locks cannot be asked: opening and closing a file gives up all locks that
    /// the same process has on it.
    private static final Set<String> OWN = ConcurrentHashMap.newKeySet();

    private final Path target;
    private final Path temporary;
    private final FileChannel channel;
    private final List<PackEntry> entries = new ArrayList<>();
    private final List<Integer> checksums = new ArrayList<>();
    private final CRC32C checksum = new CRC32C();
    private int inChunk;
    private long position = PackHeader.BYTES;
    private boolean finished;

    private PackWriter(Path target, Path temporary, FileChannel channel) {
        this.target = target;
        this.temporary = temporary;
        this.channel = channel;
    }

    /// Begins a file beside its target.
    ///
    /// @param target  where the finished file goes; replaced if it is there
    @SuppressWarnings("resource") // the channel is closed by close()
    static PackWriter create(Path target) throws IOException {
        Path temporary = target.resolveSibling("." + target.getFileName() + "."
                + ProcessHandle.current().pid() + "." + UUID.randomUUID() + TEMPORARY_SUFFIX);
        String name = String.valueOf(temporary.getFileName());
        OWN.add(name);
        boolean created = false;
        try {
            FileChannel channel = open(temporary);
            created = true;
            return new PackWriter(target, temporary, channel);
        } finally {
            if (!created) {
                OWN.remove(name);
            }
        }
    }

    private static FileChannel open(Path temporary) throws IOException {
        FileChannel channel = FileChannel.open(temporary, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        try {
            if (!tryLock(channel)) {
                throw new IOException(temporary + " is locked by somebody else");
            }
        } catch (IOException e) {
            channel.close();
            Files.deleteIfExists(temporary);
            throw e;
        }
        channel.position(PackHeader.BYTES);
        return channel;
    }

    /// Whether nobody else has the lock, as far as the file system can tell.
    static boolean tryLock(FileChannel channel) {
        try {
            return channel.tryLock() != null;
        } catch (IOException e) {
            // A file system without locks: left-overs then stay until somebody removes them.
            LOG.debug("written without a lock: {}", e.toString());
            return true;
        }
    }

    /// Whether a file name is one of a file being written by another process, or left by one.
    static boolean isForeignTemporary(String name) {
        return name.startsWith(".") && name.endsWith(TEMPORARY_SUFFIX) && !OWN.contains(name);
    }

    @Override
    public Arena packingArena(Arena temporaryArena) {
        return temporaryArena;
    }

    @Override
    public void add(String name, PackedMatrix matrix) throws IOException {
        int padding = (int) (Math.ceilDiv(position, PackHeader.ALIGNMENT) * PackHeader.ALIGNMENT - position);
        if (padding > 0) {
            write(ByteBuffer.allocate(padding));
        }
        entries.add(PackEntry.of(name, matrix, position));
        MemorySegment data = matrix.data();
        for (long from = 0; from < data.byteSize(); from += MAX_WRITE) {
            write(data.asSlice(from, Math.min(MAX_WRITE, data.byteSize() - from))
                    .asByteBuffer());
        }
    }

    private void write(ByteBuffer bytes) throws IOException {
        ByteBuffer covered = bytes.duplicate();
        while (covered.hasRemaining()) {
            int count = Math.min(covered.remaining(), PackIndex.CHUNK_BYTES - inChunk);
            checksum.update(covered.slice(covered.position(), count));
            covered.position(covered.position() + count);
            inChunk += count;
            if (inChunk == PackIndex.CHUNK_BYTES) {
                endChunk();
            }
        }
        position += bytes.remaining();
        writeFully(bytes);
    }

    private void endChunk() {
        checksums.add((int) checksum.getValue());
        checksum.reset();
        inChunk = 0;
    }

    private void writeFully(ByteBuffer bytes) throws IOException {
        try {
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
        } catch (IOException e) {
            throw FileFault.named(temporary, e);
        }
    }

    /// Ends the file and gives it its name.
    void finish(PackIdentity identity, String weightsDigest, String sourceFolder) throws IOException {
        if (inChunk > 0) {
            endChunk();
        }
        byte[] index = new PackIndex(identity, weightsDigest, sourceFolder, entries, checksums).encode();
        writeFully(ByteBuffer.wrap(index));
        int indexChecksum = PackHeader.crc(ByteBuffer.wrap(index));
        ByteBuffer header = new PackHeader(position + index.length, position, index.length, indexChecksum).encode();
        channel.position(0);
        writeFully(header);
        // One sync is enough: whatever reaches the disk first, checksums tell half a file.
        channel.force(true);
        LargePages.forget(temporary);
        Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        finished = true;
        syncFolder();
    }

    // Best effort: without it a power cut may take the new name back, never show half a file.
    @SuppressWarnings("EmptyCatch")
    private void syncFolder() {
        Path folder = target.toAbsolutePath().getParent();
        if (folder == null) {
            return;
        }
        try (FileChannel names = FileChannel.open(folder, StandardOpenOption.READ)) {
            names.force(true);
        } catch (IOException e) {
            // Folders cannot be opened everywhere.
        }
    }

    /// Removes what was not finished. Idempotent.
    @Override
    public void close() throws IOException {
        try {
            channel.close();
            if (!finished) {
                Files.deleteIfExists(temporary);
            }
        } finally {
            OWN.remove(String.valueOf(temporary.getFileName()));
        }
    }
}
