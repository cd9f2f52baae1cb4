package io.millrace.engine.checkpoint;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.file.RegularFile;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;
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

    private final Path target;
    private final FileChannel lock;
    private final Thread atExit = new Thread(this::deleteAtExit, "delete-unfinished-folder");
    private Path made;
    private boolean finished;

    private UnfinishedFolder(Path target, Path made, FileChannel lock) {
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

    /// Begins a folder, after removing what killed runs left of it.
    ///
    /// @param target  where it goes: not there
    @SuppressWarnings("resource") // the channel is closed by close()
    public static UnfinishedFolder create(NewModelFolder target) throws IOException {
        Path parent = Objects.requireNonNull(target.whole().getParent(), "parent");
        if (Files.isDirectory(parent)) {
            removeAbandoned(parent, target.hiddenPrefix());
        }
        Path made = target.createHidden();
        FileChannel channel = openLock(made);
        try {
            isLocked(channel);
        } catch (IOException e) {
            // What is left then stays, and is named, until somebody removes it.
            LOG.debug("{} cannot be locked: {}", made, e.toString());
        }
        UnfinishedFolder folder = new UnfinishedFolder(target.whole(), made, channel);
        Runtime.getRuntime().addShutdownHook(folder.atExit);
        return folder;
    }

    /// Where the files go.
    public Path path() {
        return made;
    }

    /// Puts the folder in its place and then gives its configuration the name it is loaded by.
    public synchronized void finish() throws IOException {
        Files.move(made, target, StandardCopyOption.ATOMIC_MOVE);
        made = target;
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

    private static void removeAbandoned(Path parent, String prefix) throws IOException {
        DirectoryStream.Filter<Path> left = path -> {
            String name = String.valueOf(path.getFileName());
            return name.startsWith(prefix)
                    && name.substring(prefix.length()).chars().allMatch(Character::isDigit)
                    && Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS);
        };
        try (DirectoryStream<Path> folders = Files.newDirectoryStream(parent, left)) {
            for (Path folder : folders) {
                removeAbandoned(folder);
            }
        }
    }

    private static void removeAbandoned(Path folder) {
        try (FileChannel channel = openLock(folder)) {
            if (isLocked(channel)) {
                delete(folder);
                LOG.info("removed {}, left by a run that was killed", folder);
            }
        } catch (IOException e) {
            LOG.warn("{}: left by a run that was killed and cannot be removed: {}", folder, e.toString());
        }
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
