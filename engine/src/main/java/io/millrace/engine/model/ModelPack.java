package io.millrace.engine.model;

import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.engine.checkpoint.CheckpointIdentity;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.pack.PackCache;
import io.millrace.engine.pack.PackDirectory;
import io.millrace.engine.pack.PackPlan;
import io.millrace.engine.pack.PackRequest;
import io.millrace.engine.pack.PackedWeights;
import io.millrace.engine.pack.PlanRecorder;
import io.millrace.engine.pack.WeightTensors;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.settings.WeightsSettings;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.MlaForm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/// Finds the packed weights of a model folder: the pack that it holds itself, or that of its checkpoint,
/// made where there is none.
public final class ModelPack {
    /// Name of the pack that a model folder may hold instead of a checkpoint.
    public static final String FILE_NAME = "weights.millrace";

    private final Path directory;
    private final ModelConfig config;
    private final Kernels kernels;
    private final EngineSettings settings;

    ModelPack(Path directory, ModelConfig config, Kernels kernels, EngineSettings settings) {
        this.directory = directory;
        this.config = config;
        this.kernels = kernels;
        this.settings = settings;
    }

    /// Writes a model folder's own pack, `weights.millrace` beside its `config.json`, whole or not at
    /// all; a file that is there is replaced. The weights never have to be in memory together.
    ///
    /// @param directory  holds `config.json`
    /// @param profile    number formats; where it asks for none, those that the source has
    /// @param kernels    provider, threads and form of attention that the pack is for
    /// @param tensors    the weights, e.g. random ones; not closed
    /// @param progress   told after each part
    /// @return the file
    /// @throws MillraceException `INVALID_CHECKPOINT` if `config.json` cannot be used
    /// @throws IllegalArgumentException if the kernel provider is unknown or unavailable
    /// @throws IOException if the file cannot be written
    public static Path write(
            Path directory, WeightProfile profile, KernelSettings kernels, WeightTensors tensors, LoadProgress progress)
            throws IOException {
        Path file = directory.resolve(FILE_NAME);
        ModelConfig config = ModelConfig.read(directory);
        try (Kernels opened = LoadedModel.open(kernels)) {
            PackCache.write(file, request(directory, config, profile, opened, kernels), tensors, progress::packed);
        }
        return file;
    }

    /// Looks at everything of a model folder but the weights themselves: its configuration, and the headers
    /// of its checkpoint or of its own pack.
    ///
    /// @throws MillraceException `INVALID_CHECKPOINT`, naming the file that is not sound
    public static ModelConfig inspect(Path directory) {
        if (!Files.exists(directory.resolve(FILE_NAME))) {
            try (Checkpoint checkpoint = Checkpoint.open(directory)) {
                return checkpoint.config();
            }
        }
        ModelConfig config = ModelConfig.read(directory);
        requireNoTensors(directory);
        PackCache.profileOf(directory.resolve(FILE_NAME));
        return config;
    }

    private static void requireNoTensors(Path directory) {
        if (CheckpointIdentity.hasTensors(directory)) {
            throw new MillraceException(
                    ErrorCode.INVALID_CHECKPOINT,
                    directory + ": " + FILE_NAME + " beside safetensors files (expected: only one of the two)");
        }
    }

    /// Everything a model of that configuration asks for.
    public static PackPlan plan(ModelConfig config, WeightProfile profile, MlaForm form) {
        PlanRecorder recorder = new PlanRecorder();
        new WeightLoader(config, profile, form, config.indexTopK(), recorder).load();
        return recorder.plan();
    }

    private static PackRequest request(
            Path directory, ModelConfig config, WeightProfile profile, Kernels kernels, KernelSettings settings) {
        return new PackRequest(
                directory,
                profile,
                settings.mlaForm(),
                plan(config, profile, settings.mlaForm()),
                kernels,
                LoadedModel.threads(settings));
    }

    /// The packed weights; whoever asks closes them.
    ///
    /// @throws MillraceException `INVALID_CHECKPOINT` if the folder holds neither a sound checkpoint
    /// nor a pack that fits
    PackedWeights obtain(LoadProgress progress) {
        Path own = directory.resolve(FILE_NAME);
        if (Files.exists(own)) {
            return own(own);
        }
        WeightsSettings weights = settings.weights();
        PackRequest request = request(directory, config, weights.profile(), kernels, settings.kernels());
        Optional<PackDirectory> folder = PackDirectory.of(weights.packDir());
        return folder.isPresent()
                ? new PackCache(folder.get()).obtain(request, () -> CheckpointTensors.open(directory), progress::packed)
                : PackCache.inMemory(request, () -> CheckpointTensors.open(directory), progress::packed);
    }

    /// The weights of an open checkpoint, packed into memory; the checkpoint is closed.
    PackedWeights pack(Checkpoint checkpoint, LoadProgress progress) {
        PackRequest request = request(directory, config, settings.weights().profile(), kernels, settings.kernels());
        return PackCache.inMemory(request, () -> new CheckpointTensors(checkpoint), progress::packed);
    }

    private PackedWeights own(Path file) {
        requireNoTensors(directory);
        WeightProfile wanted = settings.weights().profile();
        WeightProfile found = PackCache.profileOf(file);
        if (wanted != WeightProfile.CHECKPOINT && wanted != found) {
            throw new MillraceException(
                    ErrorCode.INVALID_CHECKPOINT,
                    "millrace.weights.profile: " + wanted.id() + " (expected: " + found.id() + ", the profile that "
                            + file + " is packed in, or checkpoint, which takes it as it is)");
        }
        return PackCache.takeGiven(file, request(directory, config, found, kernels, settings.kernels()));
    }
}
