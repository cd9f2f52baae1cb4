package io.millrace.engine.synthetic;

import io.millrace.engine.chat.ChatTemplate;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.checkpoint.NewModelFolder;
import io.millrace.engine.checkpoint.UnfinishedFolder;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.file.RegularFile;
import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.model.ModelPack;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.tokenizer.Tokenizer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;

/// Makes a model folder of random weights that every service loads: a configuration, packed weights,
/// and the tokenizer and template of another model. It appears under its name once it is complete.
///
/// @param config     a `config.json`
/// @param profile    number formats; not [WeightProfile#CHECKPOINT]
/// @param tokenizer  folder with `tokenizer.json` and what else a text model needs; ids beyond its
///                   vocabulary decode to U+FFFD
/// @param kernels    provider, threads and form of attention that the pack is for
/// @param seed       of the weights
public record SyntheticModel(Path config, WeightProfile profile, Path tokenizer, KernelSettings kernels, long seed) {
    private static final String CONFIG = "config.json";
    private static final String TOKENIZER = "tokenizer.json";
    private static final List<String> COPIED = List.of(TOKENIZER, "tokenizer_config.json", "chat_template.jinja");

    public SyntheticModel {
        if (profile == WeightProfile.CHECKPOINT) {
            throw new IllegalArgumentException("profile: checkpoint (expected: bf16, w8a8 or w4a8)");
        }
    }

    /// Writes the folder.
    ///
    /// @param target  must not exist
    /// @return its configuration
    /// @throws MillraceException `INVALID_CHECKPOINT` if the configuration cannot be used,
    ///     `INVALID_REQUEST` if there is something at the target, or less space than the folder needs
    /// @throws IOException if a file cannot be read or written
    public ModelConfig write(Path target, LoadProgress progress) throws IOException {
        NewModelFolder place = new NewModelFolder(target);
        UnfinishedFolder.requireNew(place);
        if (!Files.exists(config)) {
            throw MillraceException.ofParam(
                    ErrorCode.INVALID_REQUEST, "config", config + ": no such file (expected: a config.json)");
        }
        ModelConfig shape = ModelConfig.readFile(config);
        requireTokenizer(shape);
        long neededBytes = neededBytes(shape);
        place.requireSpace(neededBytes);
        try (UnfinishedFolder folder = UnfinishedFolder.create(place)) {
            Path made = folder.path();
            Files.copy(config, made.resolve(CONFIG));
            copyTokenizer(made);
            ModelPack.write(
                    made, profile, kernels, new RandomTensors(seed, shape.layers() + shape.mtpLayers()), progress);
            // Packing reads it by the name that the folder's last step gives it.
            Files.move(made.resolve(CONFIG), made.resolve(UnfinishedFolder.CONFIG), StandardCopyOption.ATOMIC_MOVE);
            folder.finish();
            return shape;
        } catch (IOException e) {
            throw place.explained(e, neededBytes);
        }
    }

    /// Bytes that the new folder takes at least.
    long neededBytes(ModelConfig shape) throws IOException {
        long bytes = ModelPack.plan(shape, profile, kernels.mlaForm()).leastBytes(RandomTensors.STORED);
        bytes += Files.size(config);
        for (String name : COPIED) {
            bytes += Files.exists(tokenizer.resolve(name)) ? Files.size(tokenizer.resolve(name)) : 0;
        }
        return bytes;
    }

    private void copyTokenizer(Path made) throws IOException {
        for (String name : COPIED) {
            if (Files.exists(tokenizer.resolve(name)) || name.equals(TOKENIZER)) {
                Files.copy(tokenizer.resolve(name), made.resolve(name));
            }
        }
    }

    private void requireTokenizer(ModelConfig shape) {
        for (String name : COPIED) {
            RegularFile.requireIfThere(tokenizer.resolve(name));
        }
        ChatTemplate.load(tokenizer);
        try (Tokenizer read = Tokenizer.load(tokenizer)) {
            if (read.vocabSize() > shape.vocabSize()) {
                throw new MillraceException(
                        ErrorCode.INVALID_CHECKPOINT,
                        config + ": vocab_size: " + shape.vocabSize() + " (expected: at least " + read.vocabSize()
                                + ", as the tokenizer of " + tokenizer + " has)");
            }
        }
    }
}
