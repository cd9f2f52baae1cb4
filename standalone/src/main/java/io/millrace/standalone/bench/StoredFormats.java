package io.millrace.standalone.bench;

import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.engine.checkpoint.IntegerWeights;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.checkpoint.TensorType;
import io.millrace.engine.model.ModelPack;
import io.millrace.engine.pack.PackCache;
import io.millrace.engine.profile.MatrixRole;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.QuantFormat;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/// The number formats that a model folder stores, and so the profiles it can be measured in.
///
/// @param folder    the model
/// @param profile   the profile whose formats it stores: that of its pack, or of a quantised checkpoint;
///                  [WeightProfile#CHECKPOINT] where they are those of no other
/// @param possible  the profiles it can be loaded in
public record StoredFormats(Path folder, WeightProfile profile, List<WeightProfile> possible) {
    private static final WeightProfile OF_FLOATS = WeightProfile.W8A8;

    public StoredFormats {
        possible = List.copyOf(possible);
    }

    /// Reads headers alone.
    ///
    /// @throws io.millrace.engine.error.MillraceException `INVALID_CHECKPOINT` if the folder holds no sound model
    public static StoredFormats of(Path folder) {
        Path pack = folder.resolve(ModelPack.FILE_NAME);
        if (Files.exists(pack)) {
            WeightProfile packed = PackCache.profileOf(pack);
            List<WeightProfile> possible =
                    packed == WeightProfile.CHECKPOINT ? List.of(packed) : List.of(WeightProfile.CHECKPOINT, packed);
            return new StoredFormats(folder, packed, possible);
        }
        try (Checkpoint checkpoint = Checkpoint.open(folder)) {
            Map<MatrixRole, QuantFormat> integers = integers(checkpoint);
            List<WeightProfile> possible = new ArrayList<>();
            for (WeightProfile profile : WeightProfile.values()) {
                // Integers cannot be rounded to another format.
                if (profile == WeightProfile.CHECKPOINT
                        || integers.entrySet().stream()
                                .allMatch(stored -> profile.format(stored.getKey())
                                        .filter(stored.getValue()::equals)
                                        .isPresent())) {
                    possible.add(profile);
                }
            }
            return new StoredFormats(folder, stored(integers), possible);
        }
    }

    // Of one matrix outside routed experts and one inside, where they are integers: what quantises a checkpoint
    // treats all of a kind alike.
    private static Map<MatrixRole, QuantFormat> integers(Checkpoint checkpoint) {
        ModelConfig config = checkpoint.config();
        List<String> probes = new ArrayList<>(List.of("model.layers.0.self_attn.o_proj.weight"));
        for (int layer = 0; layer < config.layers(); layer++) {
            if (!config.isDense(layer)) {
                probes.add("model.layers." + layer + ".mlp.experts.0.up_proj.weight");
                break;
            }
        }
        Map<MatrixRole, QuantFormat> found = new EnumMap<>(MatrixRole.class);
        for (String name : probes) {
            MatrixRole role = MatrixRole.of(name).orElseThrow();
            if (checkpoint.isStoredAs(name, TensorType.I8)) {
                found.put(role, QuantFormat.W8A8);
            } else if (checkpoint.has(IntegerWeights.packedName(name))) {
                found.put(role, QuantFormat.W4A8);
            }
        }
        return found;
    }

    private static WeightProfile stored(Map<MatrixRole, QuantFormat> integers) {
        if (integers.get(MatrixRole.ATTENTION) != QuantFormat.W8A8) {
            return WeightProfile.CHECKPOINT;
        }
        QuantFormat experts = integers.get(MatrixRole.ROUTED_EXPERT);
        if (experts == null) {
            return WeightProfile.CHECKPOINT;
        }
        return experts == QuantFormat.W4A8 ? WeightProfile.W4A8 : WeightProfile.W8A8;
    }

    /// What is measured: what was asked for, else the folder as it is, or its floats rounded to int8.
    ///
    /// @param asked  empty if nothing was
    /// @throws IllegalArgumentException naming `--profile`, if the folder cannot be loaded in one of them
    public List<WeightProfile> choose(List<WeightProfile> asked) {
        for (WeightProfile one : asked) {
            if (!possible.contains(one)) {
                throw new IllegalArgumentException("--profile: " + one.id() + " (expected: "
                        + possible.stream().map(WeightProfile::id).collect(Collectors.joining(" or ")) + ", as "
                        + folder + " stores its weights)");
            }
        }
        if (!asked.isEmpty()) {
            return asked;
        }
        return List.of(
                possible.contains(WeightProfile.BF16) && profile == WeightProfile.CHECKPOINT
                        ? OF_FLOATS
                        : WeightProfile.CHECKPOINT);
    }

    /// The formats that are computed with: of the folder as it is those that it stores.
    WeightProfile computed(WeightProfile chosen) {
        return chosen == WeightProfile.CHECKPOINT ? profile : chosen;
    }
}
