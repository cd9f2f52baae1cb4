package io.millrace.engine.pack;

import io.millrace.engine.file.RegularFile;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Lets one process at a time make a pack; others wait and then find it. Only time is at stake: every
/// writer has a file of its own, so a lock whose file cannot be opened, that a file system does not offer,
/// or that is not had in time, is done without. The file goes with the lock. Who waited for it then has the lock of a
/// file that is gone, beside which somebody else may have another: both look for the pack first, which is there unless
/// its writer failed.
final class PackLock implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PackLock.class);
    static final String SUFFIX = ".lock";
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long MAX_WAIT_NANOS = TimeUnit.HOURS.toNanos(6);

    private final Path file;
    private final @Nullable FileChannel channel;
    private final boolean waited;

    private PackLock(Path file, @Nullable FileChannel channel, boolean waited) {
        this.file = file;
        this.channel = channel;
        this.waited = waited;
    }

    /// Waits for the lock of a pack, a file beside it.
    ///
    /// @throws IOException if the thread is interrupted
    @SuppressWarnings("resource") // the channel is closed by close()
    static PackLock acquire(Path pack) throws IOException {
        Path file = fileOf(pack);
        FileChannel channel;
        try {
            channel = RegularFile.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        } catch (IOException e) {
            LOG.warn("{} cannot be opened, making the pack without a lock: {}", file, e.toString());
            return new PackLock(file, null, false);
        }
        return hold(channel, pack);
    }

    private static Path fileOf(Path pack) {
        return pack.resolveSibling(pack.getFileName() + SUFFIX);
    }

    /// Waits for a lock on an open file, which is closed with it.
    static PackLock hold(FileChannel channel, Path pack) throws IOException {
        boolean acquired = false;
        try {
            PackLock lock = new PackLock(fileOf(pack), channel, await(channel, pack));
            acquired = true;
            return lock;
        } finally {
            if (!acquired) {
                channel.close();
            }
        }
    }

    private static boolean await(FileChannel channel, Path pack) throws IOException {
        long deadline = System.nanoTime() + MAX_WAIT_NANOS;
        boolean waited = false;
        while (!tryLock(channel, pack)) {
            if (!waited) {
                LOG.info("waiting for another start that makes {}", pack);
                waited = true;
            }
            if (System.nanoTime() - deadline > 0) {
                LOG.warn("{} is still being made elsewhere, making it here too", pack);
                return true;
            }
            LockSupport.parkNanos(channel, POLL_NANOS);
            if (Thread.currentThread().isInterrupted()) {
                throw new IOException("interrupted");
            }
        }
        return waited;
    }

    /// Whether nobody else has the lock, as far as the file system can tell.
    private static boolean tryLock(FileChannel channel, Path pack) {
        try {
            return channel.tryLock() != null;
        } catch (OverlappingFileLockException e) {
            // Another thread of this process has it.
            return false;
        } catch (IOException e) {
            LOG.warn("{} cannot be locked, making it without: {}", pack, e.toString());
            return true;
        }
    }

    /// Whether somebody else had it first.
    boolean waited() {
        return waited;
    }

    @Override
    public void close() throws IOException {
        if (channel == null) {
            return;
        }
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            LOG.debug("{} stays: {}", file, e.toString());
        }
        channel.close();
    }
}
