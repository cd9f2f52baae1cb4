package io.millrace.engine.checkpoint;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/// Finds the files of a model folder and lets none outside it be named: no separators, no `..`, and no
/// symbolic link that leaves the folder, but for the one layout that needs it: in a Hugging Face cache
/// the files of `snapshots/<revision>` link to `blobs` beside `snapshots`.
final class ModelFiles {
    private static final int MAX_NAME = 255;

    private final Path directory;

    ModelFiles(Path directory) {
        this.directory = directory;
    }

    Path directory() {
        return directory;
    }

    boolean has(String name) {
        return Files.exists(directory.resolve(name));
    }

    /// The regular file of that name.
    ///
    /// @param name as found in a file: not trusted
    Path file(String name) {
        if (!Files.isDirectory(directory)) {
            throw InvalidCheckpoint.of(directory, "no such folder", "a folder with config.json");
        }
        if (name.isEmpty() || name.length() > MAX_NAME || !isPlain(name)) {
            throw InvalidCheckpoint.of(
                    directory,
                    "file name \"" + InvalidCheckpoint.quote(name) + "\"",
                    "a plain file name in this folder");
        }
        Path file = directory.resolve(name);
        if (!Files.exists(file)) {
            throw InvalidCheckpoint.of(file, "no such file", "a readable file");
        }
        try {
            Path real = file.toRealPath();
            Path root = directory.toRealPath();
            if (!real.startsWith(root) && !isBlobOf(root, real)) {
                throw InvalidCheckpoint.of(file, "links to " + real, "a file inside the model folder");
            }
        } catch (IOException e) {
            throw InvalidCheckpoint.of(file, "cannot be resolved: " + e.getMessage(), "a readable file", e);
        }
        if (!Files.isRegularFile(file)) {
            throw InvalidCheckpoint.of(file, "not a regular file", "a readable file");
        }
        return file;
    }

    private static boolean isPlain(String name) {
        if (name.charAt(0) == '.') {
            return false;
        }
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            boolean allowed = (c >= 'a' && c <= 'z')
                    || (c >= 'A' && c <= 'Z')
                    || (c >= '0' && c <= '9')
                    || "._-+ ".indexOf(c) >= 0;
            if (!allowed) {
                return false;
            }
        }
        return true;
    }

    private static boolean isBlobOf(Path root, Path real) {
        Path snapshots = root.getParent();
        if (snapshots == null || snapshots.getFileName() == null) {
            return false;
        }
        Path repository = snapshots.getParent();
        return "snapshots".equals(snapshots.getFileName().toString())
                && repository != null
                && real.startsWith(repository.resolve("blobs"));
    }
}
