package io.millrace.engine.model;

import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.checkpoint.WeightRotation;
import io.millrace.engine.kv.KvLayout;
import io.millrace.engine.pack.PackedWeights;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.kernels.KernelCheck;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.provider.KernelProviders;
import io.millrace.kernels.provider.SelectedKernels;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// A model ready to compute: packed weights, mapped from a file or in memory, the kernels that read them,
/// and what identifies its results. Several [Transformer]s of one JVM share it and step one at a time
/// through its [StepGate].
public final class LoadedModel implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LoadedModel.class);
    private static final String NUMERICS_VERSION = "millrace-numerics-1";

    private final ModelConfig config;
    private final EngineSettings settings;
    private final Kernels kernels;
    private final KvLayout layout;
    private final PackedWeights packed;
    private final ModelWeights weights;
    private final StepGate gate = new StepGate();
    private List<KernelCheck> kernelChecks = List.of();
    private boolean closed;

    private LoadedModel(
            ModelConfig config, EngineSettings settings, Kernels kernels, PackedWeights packed, ModelWeights weights) {
        this.config = config;
        this.settings = settings;
        this.kernels = kernels;
        this.packed = packed;
        this.weights = weights;
        this.layout = KvLayout.of(config, settings.kv().format());
    }

    /// Takes the packed weights of a model folder; where there are none yet, its checkpoint is read and
    /// packed first and its files are closed again.
    ///
    /// @param directory  a model folder in Hugging Face layout, or one with `config.json` and a pack of
    ///                   its own ([ModelPack#FILE_NAME])
    /// @param settings   provider, threads, sparse attention, KV format, profile, folder of packs
    /// @param progress   told how packing goes; not at all if there is nothing to pack
    /// @throws io.millrace.engine.error.MillraceException `INVALID_CHECKPOINT` if the folder is not a
    ///     sound checkpoint
    /// @throws IllegalArgumentException if the kernel provider is unknown or unavailable, or the
    /// configured folder of packs cannot be used
    public static LoadedModel load(Path directory, EngineSettings settings, LoadProgress progress) {
        return load(directory, settings, progress, UnaryOperator.identity());
    }

    /// The same, with kernels that something is put around, to see what they are given.
    ///
    /// @param around  given the selected kernels, yields those to use; they close what they stand around
    public static LoadedModel load(
            Path directory, EngineSettings settings, LoadProgress progress, UnaryOperator<Kernels> around) {
        return load(directory, ModelConfig.read(directory), settings, around, pack -> pack.obtain(progress));
    }

    /// Packs an open checkpoint into memory.
    ///
    /// @param checkpoint  closed when this returns
    public static LoadedModel load(Checkpoint checkpoint, EngineSettings settings, LoadProgress progress) {
        try (checkpoint) {
            return load(
                    checkpoint.directory(),
                    checkpoint.config(),
                    settings,
                    UnaryOperator.identity(),
                    pack -> pack.pack(checkpoint, progress));
        }
    }

    private static LoadedModel load(
            Path directory,
            ModelConfig config,
            EngineSettings settings,
            UnaryOperator<Kernels> around,
            Function<ModelPack, PackedWeights> obtained) {
        Kernels kernels = around.apply(open(settings.kernels()));
        PackedWeights packed = null;
        boolean loaded = false;
        try {
            packed = obtained.apply(new ModelPack(directory, config, kernels, settings));
            int topK = topK(config, settings);
            // Dense attention still computes and stores index keys; the indexer then selects nothing.
            int indexerTopK = topK == 0 ? config.indexTopK() : topK;
            ModelWeights weights = new WeightLoader(
                            config, packed.profile(), settings.kernels().mlaForm(), indexerTopK, packed)
                    .load();
            LoadedModel model = new LoadedModel(config, settings, kernels, packed, weights);
            model.kernelChecks = KernelChecks.run(kernels, weights);
            loaded = true;
            LOG.info(
                    "loaded {} from {}: numerics {}, layout {}",
                    directory,
                    packed.file().map(Path::toString).orElse("its checkpoint"),
                    model.numericsId(),
                    model.layout.layoutId());
            return model;
        } finally {
            if (!loaded) {
                kernels.close();
                if (packed != null) {
                    packed.close();
                }
            }
        }
    }

    static Kernels open(KernelSettings settings) {
        SelectedKernels selected =
                KernelProviders.select(settings.suitableProvider(), threads(settings), settings.isaLevel());
        if (selected.isFallback()) {
            LOG.warn(
                    "kernels {}, which are slower than those that cannot run{}",
                    selected.kernels().description(),
                    selected.declinedText());
        } else {
            LOG.info("kernels {}{}", selected.kernels().description(), selected.declinedText());
        }
        return selected.kernels();
    }

    static int threads(KernelSettings settings) {
        return settings.threads() == 0 ? Runtime.getRuntime().availableProcessors() : settings.threads();
    }

    public ModelConfig config() {
        return config;
    }

    public EngineSettings settings() {
        return settings;
    }

    /// The kernels. Whoever calls them holds a turn of [#gate()].
    public Kernels kernels() {
        return kernels;
    }

    /// What the kernels' self-check found when the model was loaded.
    public List<KernelCheck> kernelChecks() {
        return kernelChecks;
    }

    /// Layout of the KV pages.
    public KvLayout layout() {
        return layout;
    }

    /// SHA-256 of the checkpoint, 32 bytes.
    public byte[] weightsDigest() {
        return packed.weightsDigest();
    }

    /// Names everything besides weights and layout that decides the bytes of a page: profile and rotation
    /// of the weights, the sparse attention, the KV format, the form of attention and the kernels'
    /// numerics. Part of the KV namespace.
    public String numericsId() {
        int topK = topK();
        String dsa = topK == 0 ? "dense" : "topk:" + topK;
        String format = switch (settings.kv().format()) {
            case F32 -> "f32";
            case BF16 -> "bf16";
            case INT8 -> "int8";
        };
        String rotation = config.rotation().map(WeightRotation::id).orElse("none");
        String form = switch (mlaForm()) {
            case ABSORBED -> "absorbed";
            case NAIVE -> "naive";
        };
        return NUMERICS_VERSION + ";profile=" + packed.profile().id() + ";rotation=" + rotation + ";kv=" + format
                + ";dsa=" + dsa + ";mla=" + form + ";kernels=" + kernels.numericsId();
    }

    /// The profile of integer weights, whether it was asked for or the checkpoint stores such; empty if the
    /// weights are in floating point.
    public Optional<WeightProfile> integerProfile() {
        return switch (packed.profile()) {
            case W8A8, W4A8 -> Optional.of(packed.profile());
            case CHECKPOINT, BF16 ->
                config.integers().map(scheme -> scheme.int4().isPresent() ? WeightProfile.W4A8 : WeightProfile.W8A8);
        };
    }

    /// Packed bytes of each tensor of the checkpoint, by its name there.
    public Map<String, Long> tensorBytes() {
        return packed.tensorBytes();
    }

    /// The pack that is mapped; empty if the weights are in memory.
    public Optional<Path> packFile() {
        return packed.file();
    }

    /// One engine step at a time in this JVM.
    public StepGate gate() {
        return gate;
    }

    MlaForm mlaForm() {
        return settings.kernels().mlaForm();
    }

    boolean dense() {
        return topK() == 0;
    }

    /// Slots a row selects, as asked for or as the model has it; 0 is dense attention.
    public int topK() {
        return topK(config, settings);
    }

    // No row sees more slots than there are positions, so a larger selection only takes memory.
    private static int topK(ModelConfig config, EngineSettings settings) {
        int topK = settings.dsa().topKOverride().orElse(config.indexTopK());
        return Math.min(topK, config.maxPositionEmbeddings());
    }

    /// How the memory of a step's selected slots is taken.
    SelectionMemory selectionMemory() {
        String key = settings.dsa().topKOverride().isPresent() ? "millrace.dsa.top-k" : "index_topk";
        return new SelectionMemory(key, topK());
    }

    ModelWeights weights() {
        return weights;
    }

    /// Releases kernels and weights. Idempotent; every transformer must be closed before.
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            kernels.close();
            packed.close();
        }
    }
}
