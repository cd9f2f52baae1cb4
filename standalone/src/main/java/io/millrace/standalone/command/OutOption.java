package io.millrace.standalone.command;

import java.nio.file.Path;
import picocli.CommandLine.Option;

/// `--out`, as all commands that make a folder take it.
final class OutOption {
    @Option(
            names = "--out",
            paramLabel = "DIR",
            converter = GivenPath.OfFolder.class,
            required = true,
            description = "Folder to make; must not exist.")
    private Path out = Path.of("");

    Path directory() {
        return out;
    }
}
