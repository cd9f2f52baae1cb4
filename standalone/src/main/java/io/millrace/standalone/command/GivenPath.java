package io.millrace.standalone.command;

import java.nio.file.Path;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/// Paths that options name. An empty one would be the working folder.
final class GivenPath {
    private GivenPath() {}

    private static Path read(String text, String expected) {
        if (text.isBlank()) {
            throw new TypeConversionException("\"" + text + "\" (expected: " + expected + ")");
        }
        return Path.of(text);
    }

    /// A path of a file, there or not.
    static final class OfFile implements ITypeConverter<Path> {
        @Override
        public Path convert(String value) {
            return read(value, "a file");
        }
    }

    /// A path of a folder, there or not.
    static final class OfFolder implements ITypeConverter<Path> {
        @Override
        public Path convert(String value) {
            return read(value, "a folder");
        }
    }
}
