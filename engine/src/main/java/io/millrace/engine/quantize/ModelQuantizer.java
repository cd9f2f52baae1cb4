package io.millrace.engine.quantize;

import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.checkpoint.NewModelFolder;
import io.millrace.engine.checkpoint.UnfinishedFolder;
import io.millrace.engine.checkpoint.WeightRotation;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.file.FileFault;
import io.millrace.engine.file.RegularFile;
import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.model.ModelPack;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.DsaSettings;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KvSettings;
import io.millrace.engine.settings.WeightsSettings;
import io.millrace.kernels.KvFormat;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// Makes an integer checkpoint from a floating-point one. The result appears whole or not at all: it is
/// made in a hidden folder beside its place, and the name of its `config.json`, without which nothing
/// loads, comes with the last step. So nothing that a killed run leaves loads; the next run removes it.
public final class ModelQuantizer {
    /// File of the report in the new folder.
    public static final String REPORT = "quantize-report.txt";

    /// No report is longer.
    private static final long REPORT_BYTES = 64 << 10;

    private static final List<String> COPIED = List.of(
            "tokenizer.json",
            "tokenizer_config.json",
            "special_tokens_map.json",
            "added_tokens.json",
            "chat_template.jinja",
            "generation_config.json",
            "LICENSE");

    private final Path source;
    private final NewModelFolder target;
    private final QuantizeSettings settings;
    private final QuantizeProgress progress;

    /// @param source  model folder
    /// @param target  folder that does not exist
    public ModelQuantizer(Path source, Path target, QuantizeSettings settings, QuantizeProgress progress) {
        this.source = source;
        this.target = new NewModelFolder(target);
        this.settings = settings;
        this.progress = progress;
    }

    /// Says so if nothing can come of it: of the source as it is, or at the target.
    ///
    /// @throws MillraceException `INVALID_CHECKPOINT` or `INVALID_REQUEST`
    public void require() {
        UnfinishedFolder.requireNew(target);
        if (Files.exists(source.resolve(ModelPack.FILE_NAME))) {
            throw new MillraceException(
                    ErrorCode.INVALID_CHECKPOINT,
                    source + ": packed weights, which cannot be quantised (expected: a checkpoint in floating point)",
                    null);
        }
        requireFloats(ModelConfig.read(source));
        for (String name : COPIED) {
            RegularFile.requireIfThere(source.resolve(name));
        }
    }

    /// Quantises.
    ///
    /// @param text  what inputs are learnt from: without any all are taken to be alike; and what the loss is
    ///              measured on before and after, if there is any
    /// @throws MillraceException `INVALID_CHECKPOINT` if the source is no sound float checkpoint,
    ///     `INVALID_REQUEST` if there is something at the target or nothing can be made there
    public QuantizeReport run(CalibrationText text) throws IOException {
        require();
        try (Checkpoint checkpoint = Checkpoint.open(source);
                UnfinishedFolder folder = UnfinishedFolder.create(target)) {
            WeightRotation rotation =
                    settings.rotate() ? WeightRotation.largest(checkpoint.config(), settings.seed()) : null;
            CheckpointOutput output = new CheckpointOutput(checkpoint, settings, folder.path());
            long neededBytes = neededBytes(output, rotation);
            target.requireSpace(neededBytes);
            requireFinite(checkpoint);
            WeightFolds folds = new WeightFolds(checkpoint, rotation, settings.search());
            InputMoments moments = calibrate(folds, text.calibration());
            TextLoss before = measure(() -> Checkpoint.open(source), text.evaluation());
            // The work above takes its time, and others write, too.
            target.requireSpace(neededBytes);
            TensorEncoder encoder = new TensorEncoder(checkpoint, folds, new ScaleSearch(settings.search()), moments);
            try {
                return write(folder, output, encoder, rotation, text, before);
            } catch (IOException e) {
                throw target.explained(e, neededBytes);
            }
        }
    }

    private QuantizeReport write(
            UnfinishedFolder folder,
            CheckpointOutput output,
            TensorEncoder encoder,
            @Nullable WeightRotation rotation,
            CalibrationText text,
            @Nullable TextLoss before)
            throws IOException {
        Path made = folder.path();
        QuantizeReport report = output.write(encoder, rotation, progress);
        copyOthers(made);
        byte[] config = output.config(rotation);
        write(made.resolve(UnfinishedFolder.CONFIG), config);
        report = report.with(text, before, measure(() -> Checkpoint.open(made, config), text.evaluation()));
        write(
                made.resolve(REPORT),
                String.join("\n", report.lines()).concat("\n").getBytes(StandardCharsets.UTF_8));
        folder.finish();
        return report;
    }

    private static void write(Path file, byte[] content) throws IOException {
        try {
            Files.write(file, content);
        } catch (IOException e) {
            throw FileFault.named(file, e);
        }
    }

    /// Bytes that the new folder takes on a disk.
    long neededBytes(CheckpointOutput output, @Nullable WeightRotation rotation) throws IOException {
        long bytes = output.fileBytes(rotation) + REPORT_BYTES;
        for (String name : COPIED) {
            Path file = source.resolve(name);
            bytes += Files.exists(file) ? ShardWriter.onDisk(Files.size(file)) : 0;
        }
        return bytes;
    }

    /// The same with a text that does not come with the engine.
    public QuantizeReport run(List<TokenSequence> calibration, List<TokenSequence> evaluation) throws IOException {
        return run(new CalibrationText(calibration, evaluation, CalibrationOrigin.GIVEN));
    }

    private void requireFloats(ModelConfig config) {
        if (config.integers().isPresent() || config.rotation().isPresent()) {
            throw new MillraceException(
                    ErrorCode.INVALID_CHECKPOINT,
                    source + ": quantised or rotated already (expected: a checkpoint in floating point)",
                    null);
        }
    }

    // First of all: folded into its neighbours, a number that is none would be found elsewhere or not at all.
    private void requireFinite(Checkpoint checkpoint) {
        List<TensorPlan.Entry> plan = TensorPlan.of(checkpoint, settings.profile());
        for (int i = 0; i < plan.size(); i++) {
            checkpoint.requireFinite(plan.get(i).name());
            progress.advanced("checking", i + 1L, plan.size());
        }
    }

    private InputMoments calibrate(WeightFolds folds, List<TokenSequence> text) {
        if (text.isEmpty() || settings.profile() == WeightProfile.CHECKPOINT) {
            return InputMoments.UNKNOWN;
        }
        CollectedMoments moments = new CollectedMoments(folds);
        try (LoadedModel model = LoadedModel.load(
                source, engine(), LoadProgress.SILENT, kernels -> new TappedKernels(kernels, moments))) {
            TextLoss.of(model, text, done -> progress.advanced("calibrating", done, text.size()));
        }
        return moments;
    }

    private @Nullable TextLoss measure(Supplier<Checkpoint> opened, List<TokenSequence> text) {
        if (text.isEmpty()) {
            return null;
        }
        try (LoadedModel model = LoadedModel.load(opened.get(), engine(), LoadProgress.SILENT)) {
            return TextLoss.of(model, text, done -> progress.advanced("measuring", done, text.size()));
        }
    }

    private EngineSettings engine() {
        return new EngineSettings(
                settings.kernels(),
                DsaSettings.defaults(),
                new KvSettings(KvFormat.F32, null),
                new WeightsSettings(0, null, WeightsSettings.OFF));
    }

    private void copyOthers(Path made) throws IOException {
        for (String name : COPIED) {
            Path file = source.resolve(name);
            if (Files.exists(file)) {
                Files.copy(file, made.resolve(name));
            }
        }
    }
}
