package io.millrace.engine.pack;

import io.millrace.engine.file.RegularFile;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Removes what is of no use from a folder of packs: files that killed writers left, their locks among them, and packs
/// of model folders that are gone. What cannot be judged stays.
final class PackSweep {
    /// Stands in a recorded path for bytes that had no meaning where it was recorded.
    private static final char UNREADABLE = '\uFFFD';

    private static final Logger LOG = LoggerFactory.getLogger(PackSweep.class);

    private PackSweep() {}

    /// Removes what killed writers left of a file.
    static void abandoned(Path target) throws IOException {
        Path folder = target.toAbsolutePath().getParent();
        if (folder == null) {
            return;
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "." + target.getFileName() + ".*")) {
            for (Path file : files) {
                if (PackWriter.isForeignTemporary(String.valueOf(file.getFileName()))) {
                    removeAbandoned(file);
                }
            }
        }
    }

    /// Removes both from a folder.
    ///
    /// @param suffix  of the names of packs
    /// @param own     the pack whose lock this process holds: to open and close the lock's file would give it up
    static void run(Path folder, String suffix, Path own) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
            for (Path file : files) {
                String name = String.valueOf(file.getFileName());
                boolean isLock =
                        name.endsWith(suffix + PackLock.SUFFIX) && !name.equals(own.getFileName() + PackLock.SUFFIX);
                if (isLock || PackWriter.isForeignTemporary(name)) {
                    removeAbandoned(file);
                } else if (name.endsWith(suffix)) {
                    removeOrphan(file);
                }
            }
        }
    }

    private static void removeAbandoned(Path file) {
        try (FileChannel channel = RegularFile.open(file, StandardOpenOption.WRITE);
                FileLock lock = channel.tryLock()) {
            if (lock != null) {
                Files.delete(file);
                LOG.info("removed {}, left by a start that was killed", file);
            }
        } catch (IOException | OverlappingFileLockException e) {
            LOG.debug("{} stays: {}", file, e.toString());
        }
    }

    private static void removeOrphan(Path file) {
        String source;
        try (PackFile pack = PackFile.open(file)) {
            source = pack.index().sourceFolder();
        } catch (IOException e) {
            LOG.debug("{} stays until it is made anew: {}", file, e.toString());
            return;
        }
        try {
            if (isGone(source)) {
                Files.delete(file);
                LOG.info("removed {}: {} is gone", file, source);
            }
        } catch (IOException | InvalidPathException e) {
            LOG.debug("{} stays: {}", file, e.toString());
        }
    }

    /// @throws InvalidPathException if the recorded text is no path here: with another file name encoding
    ///     its folder may well be there
    private static boolean isGone(String source) {
        return !source.isEmpty() && source.indexOf(UNREADABLE) < 0 && Files.notExists(Path.of(source));
    }
}
