package io.millrace.engine.checkpoint;

import io.millrace.engine.file.RegularFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/// Finds the files of a model folder and lets none outside it be named: no separators, no `..`. Symbolic
/// links are followed: they are made by whoever owns the folder, as in a Hugging Face cache, or where
/// weights lie on another disk.
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
            throw InvalidCheckpoint.of(
                    directory, Files.exists(directory) ? "a file" : "no such folder", "a folder with config.json");
        }
        if (name.isEmpty() || name.length() > MAX_NAME || !isPlain(name)) {
            throw InvalidCheckpoint.of(
                    directory,
                    "file name \"" + InvalidCheckpoint.quote(name) + "\"",
                    "a plain file name in this folder");
        }
        Path file = directory.resolve(name);
        if (!Files.exists(file)) {
            throw InvalidCheckpoint.of(
                    file, Files.isSymbolicLink(file) ? "links to " + target(file) : "no such file", "a readable file");
        }
        RegularFile.requireIfThere(file);
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

    private static String target(Path link) {
        try {
            return Files.readSymbolicLink(link) + ", which is not there";
        } catch (IOException e) {
            return "nowhere";
        }
    }
}
