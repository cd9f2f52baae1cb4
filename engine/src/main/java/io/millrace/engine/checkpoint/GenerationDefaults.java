package io.millrace.engine.checkpoint;

import java.nio.file.Path;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalInt;

/// What `generation_config.json` proposes where a request says nothing. `do_sample` is ignored, as other
/// servers do.
///
/// @param temperature  empty if not given
/// @param topP         empty if not given
/// @param topK         empty if not given; 0 keeps all
/// @param minP         empty if not given
/// @param eosTokenIds  ids that end a reply, empty if not given
public record GenerationDefaults(
        OptionalDouble temperature,
        OptionalDouble topP,
        OptionalInt topK,
        OptionalDouble minP,
        List<Integer> eosTokenIds) {
    private static final String FILE = "generation_config.json";

    public GenerationDefaults {
        eosTokenIds = List.copyOf(eosTokenIds);
    }

    /// Reads the file of a model folder; if there is none every value is empty.
    ///
    /// @throws io.millrace.engine.error.MillraceException `INVALID_CHECKPOINT`, naming key, found and
    /// expected
    public static GenerationDefaults read(Path directory) {
        ModelFiles model = new ModelFiles(directory);
        if (!model.has(FILE)) {
            return new GenerationDefaults(
                    OptionalDouble.empty(),
                    OptionalDouble.empty(),
                    OptionalInt.empty(),
                    OptionalDouble.empty(),
                    List.of());
        }
        JsonFile json = JsonFile.read(model.file(FILE));
        JsonKeys keys = new JsonKeys(json.file(), "", json.root());
        return new GenerationDefaults(
                keys.optionalNumber("temperature", 0, 100),
                keys.optionalNumber("top_p", Float.MIN_VALUE, 1),
                keys.optionalInteger("top_k", 0, Integer.MAX_VALUE),
                keys.optionalNumber("min_p", 0, 1),
                keys.ids("eos_token_id", Integer.MAX_VALUE, 64));
    }
}
