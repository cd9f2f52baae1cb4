package io.millrace.engine.pack;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Lets one process at a time make a pack; others wait and then find it. Only time is at stake: every
/// writer has a file of its own, so a lock that a file system does not offer, or that is not had in time,
/// is done without.
final class PackLock implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PackLock.class);
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long MAX_WAIT_NANOS = TimeUnit.HOURS.toNanos(6);

    private final FileChannel channel;
    private final boolean waited;

    private PackLock(FileChannel channel, boolean waited) {
        this.channel = channel;
        this.waited = waited;
    }

    /// Waits for the lock of a pack, a file beside it.
    @SuppressWarnings("resource") // the channel is closed by close()
    static PackLock acquire(Path pack) throws IOException {
        Path file = pack.resolveSibling(pack.getFileName() + ".lock");
        FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        boolean acquired = false;
        try {
            PackLock lock = new PackLock(channel, await(channel, pack));
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
        while (tryLock(channel) == null) {
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

    private static @Nullable FileLock tryLock(FileChannel channel) throws IOException {
        try {
            return channel.tryLock();
        } catch (OverlappingFileLockException e) {
            // Another thread of this process has it.
            return null;
        }
    }

    /// Whether somebody else had it first.
    boolean waited() {
        return waited;
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
