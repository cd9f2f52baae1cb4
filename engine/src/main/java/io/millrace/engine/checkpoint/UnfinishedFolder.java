package io.millrace.engine.checkpoint;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.file.RegularFile;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// A model folder while it is made, hidden beside its place. Its configuration, without which nothing
/// loads, has another name until the very last step, which renames that one file: whenever the process
/// is killed before, what it leaves does not load. The folder is locked as long as its maker lives, so
/// that what a killed one left can be told apart and removed. A process that is told to end removes it
/// itself.
public final class UnfinishedFolder implements AutoCloseable {
    /// Name of the configuration until everything else is in place.
    public static final String CONFIG = "config.json.unfinished";

    private static final Logger LOG = LoggerFactory.getLogger(UnfinishedFolder.class);
    private static final String LOADABLE_CONFIG = "config.json";
    private static final String LOCK = "lock";
    private static final int ATTEMPTS_AT_EXIT = 100;
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long MAX_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    /// Folders of this process: asking for a lock of its own would give it up.
    private static final Set<Path> OWN = ConcurrentHashMap.newKeySet();

    private final NewModelFolder target;
    private final FileChannel lock;
    private final Thread atExit = new Thread(this::deleteAtExit, "delete-unfinished-folder");
    private Path made;
    private boolean finished;

    private UnfinishedFolder(NewModelFolder target, Path made, FileChannel lock) {
        this.target = target;
        this.made = made;
        this.lock = lock;
    }

    /// Says so if there is something at the target, or if it cannot be made.
    ///
    /// @throws MillraceException `INVALID_REQUEST`
    public static void requireNew(NewModelFolder target) {
        if (Files.exists(target.path().resolve(CONFIG))) {
            throw MillraceException.ofParam(
                    ErrorCode.INVALID_REQUEST,
                    "out",
                    target.path() + ": left by a run that was killed before its last step (expected: a new folder)");
        }
        target.require();
    }

    /// Begins a folder, and removes what killed runs left of it.
    ///
    /// @param target  where it goes: not there
    /// @throws MillraceException `INVALID_REQUEST` if somebody else is making it, or it cannot be made
    @SuppressWarnings("resource") // the folder is closed by its owner
    public static UnfinishedFolder create(NewModelFolder target) throws IOException {
        Path made = makeOwn(target);
        boolean begun = false;
        try {
            UnfinishedFolder folder = new UnfinishedFolder(target, made, lock(target, made));
            Runtime.getRuntime().addShutdownHook(folder.atExit);
            begun = true;
            try {
                folder.requireAlone();
            } catch (IOException | MillraceException e) {
                folder.giveUp();
                throw e;
            }
            return folder;
        } finally {
            if (!begun) {
                OWN.remove(made);
            }
        }
    }

    // Nobody of this process sees the folder before it is known as one of its own.
    private static Path makeOwn(NewModelFolder target) {
        synchronized (OWN) {
            Path made = target.createHidden();
            OWN.add(made);
            return made;
        }
    }

    private static FileChannel lock(NewModelFolder target, Path made) throws IOException {
        FileChannel channel;
        try {
            channel = openLock(made);
        } catch (NoSuchFileException e) {
            // Another run, begun in the same moment, took it for a left-over.
            throw target.taken();
        }
        try {
            if (!isLocked(channel) || !Files.exists(made.resolve(LOCK))) {
                channel.close();
                throw target.taken();
            }
        } catch (IOException e) {
            // What is left then stays, and is named, until somebody removes it.
            LOG.debug("{} cannot be locked: {}", made, e.toString());
        }
        return channel;
    }

    /// Where the files go.
    public Path path() {
        return made;
    }

    /// Puts the folder in its place and then gives its configuration the name it is loaded by.
    public synchronized void finish() throws IOException {
        Path place = target.whole();
        try {
            Files.move(made, place, StandardCopyOption.ATOMIC_MOVE);
        } catch (FileSystemException e) {
            if (Files.exists(place, LinkOption.NOFOLLOW_LINKS)) {
                throw MillraceException.ofParam(
                        ErrorCode.INVALID_REQUEST,
                        "out",
                        target.path() + ": appeared while it was made (expected: a folder that nobody else makes)");
            }
            throw e;
        }
        OWN.remove(made);
        made = place;
        Files.delete(made.resolve(LOCK));
        Files.move(made.resolve(CONFIG), made.resolve(LOADABLE_CONFIG), StandardCopyOption.ATOMIC_MOVE);
        finished = true;
    }

    /// Deletes the folder if it was not finished.
    @Override
    public void close() throws IOException {
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException e) {
            // The process ends: the hook deletes, and the lock goes with the process.
            return;
        }
        try (lock) {
            if (!finished) {
                delete(made);
            }
        } finally {
            OWN.remove(made);
        }
    }

    // Whoever fills the folder still runs and may add a file to it when it was just emptied.
    private synchronized void deleteAtExit() {
        for (int attempt = 0; !finished && attempt < ATTEMPTS_AT_EXIT; attempt++) {
            try {
                if (Files.exists(made)) {
                    delete(made);
                }
                return;
            } catch (IOException e) {
                LOG.debug("{} is there still: {}", made, e.toString());
            }
        }
    }

    private static FileChannel openLock(Path folder) throws IOException {
        return RegularFile.open(folder.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    }

    /// Whether the lock was had; it is held until the channel is closed.
    @SuppressWarnings("resource")
    private static boolean isLocked(FileChannel channel) throws IOException {
        try {
            FileLock lock = channel.tryLock();
            return lock != null;
        } catch (OverlappingFileLockException e) {
            return false; // by another run in this process
        }
    }

    /// Nobody goes on who sees a rival, so that at most one run does. Of those that begin in the same moment and see
    /// each other the first by name stays and looks again, so that one does: the others give up at once.
    private void requireAlone() throws IOException {
        long deadline = System.nanoTime() + MAX_WAIT_NANOS;
        for (List<Path> rivals = rivals(); !rivals.isEmpty(); rivals = rivals()) {
            boolean first = rivals.stream().allMatch(rival -> made.compareTo(rival) < 0);
            if (!first || System.nanoTime() - deadline > 0) {
                throw target.taken();
            }
            LockSupport.parkNanos(this, POLL_NANOS);
            if (Thread.currentThread().isInterrupted()) {
                throw new IOException("interrupted");
            }
        }
    }

    private void giveUp() {
        try {
            close();
        } catch (IOException e) {
            // A rival looked into it at this moment, and removes it.
            LOG.debug("{} is there still: {}", made, e.toString());
        }
    }

    /// The other hidden folders of this place; those whose makers are dead are removed.
    private List<Path> rivals() throws IOException {
        String prefix = target.hiddenPrefix();
        DirectoryStream.Filter<Path> others = path -> {
            String name = String.valueOf(path.getFileName());
            return name.startsWith(prefix)
                    && name.substring(prefix.length()).chars().allMatch(Character::isDigit)
                    && !path.equals(made)
                    && Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS);
        };
        List<Path> alive = new ArrayList<>();
        Path parent = Objects.requireNonNull(made.getParent(), "parent");
        try (DirectoryStream<Path> folders = Files.newDirectoryStream(parent, others)) {
            for (Path folder : folders) {
                if (!isAbandoned(folder)) {
                    alive.add(folder);
                }
            }
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return alive;
    }

    /// Removes a folder, unless its maker lives.
    private static boolean isAbandoned(Path folder) {
        synchronized (OWN) {
            return !OWN.contains(folder) && isRemoved(folder);
        }
    }

    private static boolean isRemoved(Path folder) {
        try (FileChannel channel = openLock(folder)) {
            if (!isLocked(channel)) {
                return false;
            }
            delete(folder);
            LOG.info("removed {}, left by a run that was killed", folder);
        } catch (NoSuchFileException e) {
            LOG.debug("{} was removed by somebody else", folder);
        } catch (IOException e) {
            LOG.warn("{}: left by a run that was killed and cannot be removed: {}", folder, e.toString());
        }
        return true;
    }

    private static void delete(Path folder) throws IOException {
        Files.walkFileTree(folder, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path emptied, @Nullable IOException e) throws IOException {
                Files.delete(emptied);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
