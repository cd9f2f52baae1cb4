package io.millrace.engine.model;

import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.checkpoint.WeightRotation;
import io.millrace.engine.kv.KvLayout;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.MlaForm;
import io.millrace.kernels.provider.KernelProviders;
import io.millrace.kernels.provider.SelectedKernels;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// A model ready to compute: packed weights in one arena, the kernels that packed them, and what
/// identifies its results. Several [Transformer]s of one JVM share it and step one at a time through
/// its [StepGate].
public final class LoadedModel implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LoadedModel.class);
    private static final String NUMERICS_VERSION = "millrace-numerics-1";

    private final ModelConfig config;
    private final EngineSettings settings;
    private final Kernels kernels;
    private final KvLayout layout;
    private final ModelWeights weights;
    private final byte[] weightsDigest;
    private final StepGate gate = new StepGate();
    private final Arena arena;
    private boolean closed;

    private LoadedModel(
            Checkpoint checkpoint, EngineSettings settings, Kernels kernels, ModelWeights weights, Arena arena) {
        this.config = checkpoint.config();
        this.weightsDigest = checkpoint.weightsDigest();
        this.settings = settings;
        this.kernels = kernels;
        this.weights = weights;
        this.arena = arena;
        this.layout = KvLayout.of(config, settings.kv().format());
    }

    /// Reads and packs a checkpoint; afterwards its files are closed.
    ///
    /// @param directory  a model folder in Hugging Face layout
    /// @param settings   provider, threads, sparse attention, KV format
    /// @param progress   told after each packed part
    /// @throws io.millrace.engine.error.MillraceException `INVALID_CHECKPOINT` if the folder is not a
    ///     sound checkpoint
    /// @throws IllegalArgumentException if the kernel provider is unknown or unavailable
    @SuppressWarnings("MustBeClosedChecker") // the arena is the model's and closes with it
    public static LoadedModel load(Path directory, EngineSettings settings, LoadProgress progress) {
        Arena arena = Arena.ofShared();
        Kernels kernels = null;
        boolean loaded = false;
        try (Checkpoint checkpoint = Checkpoint.open(directory)) {
            kernels = open(settings);
            int topK = settings.dsa().topKOverride().orElse(checkpoint.config().indexTopK());
            // Dense attention still computes and stores index keys; the indexer then selects nothing.
            int indexerTopK = topK == 0 ? checkpoint.config().indexTopK() : topK;
            ModelWeights weights = new WeightLoader(
                            checkpoint, kernels, settings.kernels().mlaForm(), indexerTopK, arena)
                    .load(progress);
            LoadedModel model = new LoadedModel(checkpoint, settings, kernels, weights, arena);
            loaded = true;
            LOG.info("loaded {}: numerics {}, layout {}", directory, model.numericsId(), model.layout.layoutId());
            return model;
        } finally {
            if (!loaded) {
                if (kernels != null) {
                    kernels.close();
                }
                arena.close();
            }
        }
    }

    private static Kernels open(EngineSettings settings) {
        int threads = settings.kernels().threads();
        SelectedKernels selected = KernelProviders.select(
                settings.kernels().provider(),
                threads == 0 ? Runtime.getRuntime().availableProcessors() : threads);
        LOG.info("kernels {}{}", selected.kernels().name(), selected.declinedText());
        return selected.kernels();
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

    /// Layout of the KV pages.
    public KvLayout layout() {
        return layout;
    }

    /// SHA-256 of the checkpoint, 32 bytes.
    public byte[] weightsDigest() {
        return weightsDigest.clone();
    }

    /// Names everything besides weights and layout that decides the bytes of a page: profile and rotation
    /// of the weights, the sparse attention, the KV format, the form of attention and the kernels'
    /// numerics. Part of the KV namespace.
    public String numericsId() {
        int topK = settings.dsa().topKOverride().orElse(config.indexTopK());
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
        return NUMERICS_VERSION + ";profile=" + settings.weights().profile().id() + ";rotation=" + rotation + ";kv="
                + format + ";dsa=" + dsa + ";mla=" + form + ";kernels=" + kernels.numericsId();
    }

    /// One engine step at a time in this JVM.
    public StepGate gate() {
        return gate;
    }

    MlaForm mlaForm() {
        return settings.kernels().mlaForm();
    }

    boolean dense() {
        return settings.dsa().topKOverride().orElse(config.indexTopK()) == 0;
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
            arena.close();
        }
    }
}
