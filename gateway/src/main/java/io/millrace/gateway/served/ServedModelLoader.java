package io.millrace.gateway.served;

import io.millrace.engine.chat.ChatTemplate;
import io.millrace.engine.checkpoint.GenerationDefaults;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.tokenizer.Tokenizer;
import io.millrace.gateway.request.SamplingOptions;
import java.nio.file.Path;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// Reads what the gateway needs of a checkpoint: everything but the weights.
public final class ServedModelLoader {
    /// The embedded model's folder, `models/mini`, and its model id.
    private static final Path EMBEDDED_FOLDER = Path.of("models", "mini");

    private static final String EMBEDDED_NAME = "millrace-mini";

    private ServedModelLoader() {}

    /// @param servedName  model id of the API, or null for the folder's name
    /// @throws io.millrace.engine.error.MillraceException  `invalid_checkpoint`, naming the file
    public static ServedModel load(Path folder, @Nullable String servedName) {
        ModelConfig config = ModelConfig.read(folder);
        GenerationDefaults generation = GenerationDefaults.read(folder);
        Optional<ChatTemplate> template = ChatTemplate.load(folder);
        String name = servedName == null || servedName.isBlank() ? nameOf(folder) : servedName;
        return new ServedModel(
                name,
                Tokenizer.load(folder),
                template,
                config.maxPositionEmbeddings(),
                endIds(config, generation),
                new SamplingOptions.Defaults(
                        (float) generation.temperature().orElse(1),
                        generation.topK().orElse(0),
                        (float) generation.topP().orElse(1),
                        (float) generation.minP().orElse(0)),
                Clock.systemUTC().instant().getEpochSecond());
    }

    private static List<Integer> endIds(ModelConfig config, GenerationDefaults generation) {
        List<Integer> ids = new ArrayList<>(config.eosTokenIds());
        ids.addAll(generation.eosTokenIds());
        return ids.stream().distinct().toList();
    }

    private static String nameOf(Path folder) {
        Path absolute = folder.toAbsolutePath().normalize();
        return absolute.endsWith(EMBEDDED_FOLDER)
                ? EMBEDDED_NAME
                : absolute.getFileName().toString();
    }
}
