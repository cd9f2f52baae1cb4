package io.millrace.engine.checkpoint;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileStore;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/// The place of a model folder that is to be made. What is wrong with it is told with the path as it was
/// given.
///
/// @param path  as given
public record NewModelFolder(Path path) {
    private static final String EXPECTED = " (expected: a new folder where one can be made)";

    private static final Pattern NO_SPACE =
            Pattern.compile("no space|not enough space|quota exceeded", Pattern.CASE_INSENSITIVE);

    /// Says so if there is something already, or if no folder can be made there: before any work.
    ///
    /// @throws MillraceException `INVALID_REQUEST`
    public void require() {
        if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            throw refused(path + ": exists already (expected: a new folder)", null);
        }
        Path above = whole().getParent();
        while (above != null && !Files.exists(above)) {
            above = above.getParent();
        }
        if (above == null || !Files.isDirectory(above)) {
            throw refused(path + ": " + above + " is not a folder" + EXPECTED, null);
        }
        try {
            // Nothing but trying tells whether a folder can be made.
            Files.deleteIfExists(makeHidden(above));
        } catch (IOException e) {
            throw refused(path + ": the folder " + above + " cannot be written to" + EXPECTED, e);
        }
    }

    /// What hidden folders beside this place, in which it is made, begin with; a number follows.
    public String hiddenPrefix() {
        return "." + whole().getFileName() + ".unfinished-";
    }

    /// Makes a hidden folder beside this place, and the folders above it. Anybody may read it whom the
    /// process lets read its files.
    ///
    /// @throws MillraceException `INVALID_REQUEST` if that is impossible
    public Path createHidden() {
        Path parent = Objects.requireNonNull(whole().getParent(), "parent");
        try {
            Files.createDirectories(parent);
            return makeHidden(parent);
        } catch (AccessDeniedException e) {
            throw refused(path + ": no permission for " + e.getFile() + EXPECTED, e);
        } catch (FileAlreadyExistsException e) {
            throw refused(path + ": " + e.getFile() + " is not a folder" + EXPECTED, e);
        } catch (IOException e) {
            throw refused(path + ": cannot be made, " + e.getMessage() + EXPECTED, e);
        }
    }

    private Path makeHidden(Path parent) throws IOException {
        long number = new SplittableRandom().nextLong(Long.MAX_VALUE);
        return Files.createDirectory(parent.resolve(hiddenPrefix() + number));
    }

    /// The place with all folders above it.
    public Path whole() {
        return path.toAbsolutePath().normalize();
    }

    /// Says so if there is less space than its files need.
    ///
    /// @throws MillraceException `INVALID_REQUEST`
    public void requireSpace(long neededBytes) {
        OptionalLong free = freeBytes();
        if (free.isPresent() && free.getAsLong() < neededBytes) {
            throw refused(path + ": " + free() + " (expected: " + neededBytes + " for the whole model)", null);
        }
    }

    /// What to say to the second of two runs that make the same folder.
    MillraceException taken() {
        return refused(path + ": another run is making it (expected: a folder that nobody else makes)", null);
    }

    /// A failure while the folder is filled: a full disk is told with this place and the space that is there, any
    /// other with the name that the file would have had.
    ///
    /// @param neededBytes  of all its files; 0 if unknown
    /// @return that, or the failure itself
    public IOException explained(IOException failure, long neededBytes) {
        String message = String.valueOf(failure.getMessage());
        if (NO_SPACE.matcher(message).find()) {
            String expected = neededBytes > 0 ? neededBytes + " for the whole model" : "room for the whole model";
            return new IOException(
                    path + ": " + reason(message) + ": " + free() + " (expected: " + expected + ")", failure);
        }
        return failure instanceof FileSystemException told && told.getFile() != null && told.getReason() != null
                ? named(told.getFile(), told.getReason(), failure)
                : failure;
    }

    private IOException named(String file, String why, IOException failure) {
        Path parent = Path.of(file).toAbsolutePath().getParent();
        boolean hidden = parent != null && String.valueOf(parent.getFileName()).startsWith(hiddenPrefix());
        return hidden
                ? new IOException(
                        path.resolve(Path.of(file).getFileName()) + ": " + why + " (expected: a file that can be"
                                + " written to its end)",
                        failure)
                : failure;
    }

    /// Without the hidden file it may begin with.
    private static String reason(String message) {
        return message.substring(message.lastIndexOf(": ") < 0 ? 0 : message.lastIndexOf(": ") + 2);
    }

    private String free() {
        OptionalLong bytes = freeBytes();
        return bytes.isPresent() ? bytes.getAsLong() + " bytes are free there" : "how much is free cannot be told";
    }

    private OptionalLong freeBytes() {
        Path there = whole().getParent();
        while (there != null && !Files.exists(there)) {
            there = there.getParent();
        }
        try {
            FileStore store = Files.getFileStore(Objects.requireNonNull(there, "parent"));
            // Some file systems tell neither what they have nor what is left.
            return store.getTotalSpace() == 0 ? OptionalLong.empty() : OptionalLong.of(store.getUsableSpace());
        } catch (IOException e) {
            return OptionalLong.empty();
        }
    }

    private static MillraceException refused(String message, @Nullable IOException cause) {
        return cause == null
                ? MillraceException.ofParam(ErrorCode.INVALID_REQUEST, "out", message)
                : new MillraceException(ErrorCode.INVALID_REQUEST, message, cause);
    }
}
