package io.millrace.standalone.command;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/// `--model`, as all commands that read a model take it.
public final class ModelOption {
    @Option(
            names = "--model",
            paramLabel = "DIR",
            description = "Folder of the model (default: the embedded one, models/mini).")
    private @Nullable Path model;

    /// Whether the command line names a folder.
    boolean isGiven() {
        return model != null;
    }

    /// The folder named, else the embedded model's. The `millrace` script names the project's folder by the
    /// system property `millrace.home`; without it the working folder is taken for that.
    ///
    /// @throws IllegalArgumentException  if the command line names none by an empty text
    public Path directory() {
        if (model != null) {
            if (model.toString().isBlank()) {
                throw new IllegalArgumentException(
                        "--model: \"\" (expected: a model folder; without it, it is the embedded one)");
            }
            return model;
        }
        return Path.of(System.getProperty("millrace.home", ""), "models", "mini");
    }
}
