package io.millrace.standalone.suite;

import io.millrace.engine.checkpoint.GenerationDefaults;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.file.RegularFile;
import io.millrace.engine.model.ModelPack;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/// A first look at a model's folder, so that a mistyped path is told as such and a damaged model at once,
/// before any service starts.
public final class ModelFolder {
    private ModelFolder() {}

    /// Looks at everything but the weights themselves: the files that must be there, the configuration and
    /// the headers of the weights.
    ///
    /// @throws MillraceException `INVALID_CHECKPOINT`, naming the folder and everything it lacks, or the file
    ///                           that is not sound
    public static void require(Path folder) {
        if (!Files.isDirectory(folder)) {
            String what = Files.exists(folder) ? "is a file" : "does not exist";
            throw invalid(folder, what + " (expected: a folder with config.json, tokenizer.json and *.safetensors)");
        }
        List<String> missing = new ArrayList<>();
        for (String name : List.of("config.json", "tokenizer.json")) {
            if (!Files.exists(folder.resolve(name))) {
                missing.add(name);
            }
        }
        if (!hasWeights(folder)) {
            missing.add("*.safetensors");
        }
        if (!missing.isEmpty()) {
            throw invalid(folder, "has no " + String.join(", no ", missing));
        }
        for (String name : List.of("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")) {
            if (RegularFile.isOther(folder.resolve(name))) {
                throw invalid(folder, "has a " + name + " that is not a regular file (expected: a readable file)");
            }
        }
        ModelPack.inspect(folder);
        GenerationDefaults.read(folder);
    }

    private static boolean hasWeights(Path folder) {
        if (Files.exists(folder.resolve(ModelPack.FILE_NAME))) {
            return true;
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.anyMatch(file -> file.toString().endsWith(".safetensors"));
        } catch (IOException e) {
            throw new MillraceException(
                    ErrorCode.INVALID_CHECKPOINT, "model folder " + folder + " cannot be read: " + e.getMessage(), e);
        }
    }

    private static MillraceException invalid(Path folder, String what) {
        return MillraceException.ofParam(ErrorCode.INVALID_CHECKPOINT, "model", "model folder " + folder + " " + what);
    }
}
