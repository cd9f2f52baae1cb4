package io.millrace.engine.quantize;

import io.millrace.engine.checkpoint.Checkpoint;
import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.checkpoint.WeightRotation;
import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.DsaSettings;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.settings.KvSettings;
import io.millrace.engine.settings.WeightsSettings;
import io.millrace.kernels.KvFormat;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Makes an integer checkpoint from a floating-point one. The result appears whole or not at all: it is
/// made in a hidden folder beside its place, whose `config.json`, without which nothing loads, comes
/// last, and is then renamed.
public final class ModelQuantizer {
    /// File of the report in the new folder.
    public static final String REPORT = "quantize-report.txt";

    private static final List<String> COPIED = List.of(
            "tokenizer.json",
            "tokenizer_config.json",
            "special_tokens_map.json",
            "added_tokens.json",
            "chat_template.jinja",
            "generation_config.json",
            "LICENSE");

    private final Path source;
    private final Path target;
    private final QuantizeSettings settings;
    private final QuantizeProgress progress;

    /// @param source  model folder
    /// @param target  folder that does not exist
    public ModelQuantizer(Path source, Path target, QuantizeSettings settings, QuantizeProgress progress) {
        this.source = source;
        this.target = target.toAbsolutePath().normalize();
        this.settings = settings;
        this.progress = progress;
    }

    /// Quantises.
    ///
    /// @param calibration  text that inputs are learnt from; may be empty, then all are taken to be alike
    /// @param evaluation   text that the loss is measured on before and after; may be empty
    /// @throws MillraceException `INVALID_CHECKPOINT` if the source is no sound float checkpoint,
    ///     `INVALID_REQUEST` if there is something at the target
    public QuantizeReport run(List<TokenSequence> calibration, List<TokenSequence> evaluation) throws IOException {
        if (Files.exists(target, LinkOption.NOFOLLOW_LINKS)) {
            throw MillraceException.ofParam(
                    ErrorCode.INVALID_REQUEST, "out", target + ": exists already (expected: a new folder)");
        }
        try (Checkpoint checkpoint = Checkpoint.open(source)) {
            requireFloats(checkpoint.config());
            WeightRotation rotation =
                    settings.rotate() ? WeightRotation.largest(checkpoint.config(), settings.seed()) : null;
            WeightFolds folds = new WeightFolds(checkpoint, rotation);
            InputMoments moments = calibrate(folds, calibration);
            TextLoss before = measure(source, evaluation);
            Path parent = target.getParent();
            Files.createDirectories(parent);
            Path made = Files.createTempDirectory(parent, "." + target.getFileName() + ".unfinished-");
            boolean finished = false;
            try {
                CheckpointOutput output = new CheckpointOutput(checkpoint, settings, made);
                QuantizeReport report = output.write(
                        new TensorEncoder(checkpoint, folds, new ScaleSearch(settings.search()), moments),
                        rotation,
                        progress);
                copyOthers(made);
                output.writeConfig(rotation);
                report = withLosses(report, before, measure(made, evaluation));
                Files.write(made.resolve(REPORT), report.lines());
                Files.move(made, target, StandardCopyOption.ATOMIC_MOVE);
                finished = true;
                return report;
            } finally {
                if (!finished) {
                    delete(made);
                }
            }
        }
    }

    private void requireFloats(ModelConfig config) {
        if (config.integers().isPresent() || config.rotation().isPresent()) {
            throw new MillraceException(
                    ErrorCode.INVALID_CHECKPOINT,
                    source + ": quantised or rotated already (expected: a checkpoint in floating point)",
                    null);
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

    private @Nullable TextLoss measure(Path directory, List<TokenSequence> text) {
        if (text.isEmpty()) {
            return null;
        }
        try (LoadedModel model = LoadedModel.load(directory, engine(), LoadProgress.SILENT)) {
            return TextLoss.of(model, text, done -> progress.advanced("measuring", done, text.size()));
        }
    }

    private static EngineSettings engine() {
        return new EngineSettings(
                KernelSettings.defaults(),
                DsaSettings.defaults(),
                new KvSettings(KvFormat.F32, null),
                new WeightsSettings(0, null, WeightsSettings.OFF));
    }

    private static QuantizeReport withLosses(
            QuantizeReport report, @Nullable TextLoss before, @Nullable TextLoss after) {
        return new QuantizeReport(
                report.profile(),
                report.rotation(),
                report.search(),
                report.sizeBefore(),
                report.sizeAfter(),
                report.layers(),
                before,
                after);
    }

    private void copyOthers(Path made) throws IOException {
        for (String name : COPIED) {
            Path file = source.resolve(name);
            if (Files.isRegularFile(file)) {
                Files.copy(file, made.resolve(name));
            }
        }
    }

    private static void delete(Path folder) throws IOException {
        Files.walkFileTree(folder, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path emptied, @Nullable IOException e) throws IOException {
                Files.delete(emptied);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
