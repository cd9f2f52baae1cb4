package io.millrace.engine.file;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;

/// What is wrong with a file, in our words: messages of the platform repeat its path, or are nothing but that.
public final class FileFault {
    private FileFault() {}

    /// What was found, to be said after the path.
    public static String found(IOException e) {
        return switch (e) {
            case NoSuchFileException absent -> "no such file";
            case AccessDeniedException denied -> "no permission" + of(denied);
            case FileAlreadyExistsException taken -> "not a folder" + of(taken);
            case NotDirectoryException other -> "not a folder" + of(other);
            case FileSystemException other when other.getReason() != null -> "cannot be used: " + other.getReason();
            default -> e.getMessage() == null ? "cannot be read or written" : "cannot be used: " + e.getMessage();
        };
    }

    private static String of(FileSystemException e) {
        return e.getFile() == null ? "" : " (" + e.getFile() + ")";
    }

    /// A failure with the file it is about: writing through a channel tells the reason alone.
    public static FileSystemException named(Path file, IOException e) {
        if (e instanceof FileSystemException told && told.getFile() != null) {
            return told;
        }
        FileSystemException named = new FileSystemException(file.toString(), null, String.valueOf(e.getMessage()));
        named.initCause(e);
        return named;
    }
}
