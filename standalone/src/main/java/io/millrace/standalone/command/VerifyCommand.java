package io.millrace.standalone.command;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.golden.GoldenCheck;
import io.millrace.engine.golden.GoldenFile;
import io.millrace.engine.golden.GoldenResult;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.quantize.ModelQuantizer;
import io.millrace.engine.settings.DsaSettings;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.settings.KvSettings;
import io.millrace.engine.settings.WeightsSettings;
import io.millrace.kernels.KvFormat;
import io.millrace.standalone.keys.GivenKeys;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/// `millrace verify`: a checkpoint against reference values.
@Command(
        name = "verify",
        description = {
            "Computes a golden file's prompt with a checkpoint, in float32 arithmetic, and compares.",
            "The tolerances are those of weights in floating point. A quantised folder is compared with the same"
                    + " ones and said to be quantised: its weights are others, so it cannot meet them.",
            "Exits with 0 within tolerance, 1 beyond it or if model or golden file cannot be used."
        },
        exitCodeList = {
            "0:within tolerance",
            "1:beyond tolerance, or model or golden file cannot be used; a sentence says why",
            "2:the command line cannot be understood"
        })
public final class VerifyCommand implements Callable<Integer> {
    private final Console console;

    @Mixin
    private ModelOption model = new ModelOption();

    @Option(
            names = "--golden",
            paramLabel = "FILE",
            converter = GivenPath.OfFile.class,
            description = "Safetensors file with input_ids, logits, topk.L, greedy_ids, greedy_logprobs"
                    + " (default: golden.safetensors in the model's folder).")
    private @Nullable Path golden;

    @Mixin
    private KernelOptions kernelOptions = new KernelOptions();

    public VerifyCommand(Console console) {
        this.console = console;
    }

    @Override
    public Integer call() throws IOException {
        GivenKeys keys = new GivenKeys(kernelOptions.given());
        EngineSettings settings = settings(keys.engine().kernels());
        try (GoldenFile file = GoldenFile.open(goldenFile());
                LoadedModel loaded = keys.naming(() -> load(settings))) {
            GoldenResult result = GoldenCheck.run(loaded, file);
            print(loaded, result);
            return result.withinTolerance() ? ExitCode.OK : ExitCode.FAILED;
        }
    }

    private Path goldenFile() {
        if (golden != null) {
            return golden;
        }
        Path own = model.directory().resolve("golden.safetensors");
        if (Files.isDirectory(model.directory()) && !Files.exists(own)) {
            throw new MillraceException(
                    ErrorCode.INVALID_REQUEST,
                    own
                            + ": no such file (expected: reference values beside the model, or elsewhere with"
                            + " --golden FILE)");
        }
        return own;
    }

    private LoadedModel load(EngineSettings settings) {
        try (LoadingBar bar = new LoadingBar(LoadingBar.hasTerminal())) {
            return LoadedModel.load(model.directory(), settings, bar);
        }
    }

    private static EngineSettings settings(KernelSettings kernels) {
        return new EngineSettings(
                kernels, DsaSettings.defaults(), new KvSettings(KvFormat.F32, null), WeightsSettings.defaults());
    }

    private void print(LoadedModel loaded, GoldenResult result) {
        Optional<WeightProfile> integers = loaded.integerProfile();
        line("kernels", loaded.kernels().description());
        boolean isRotated = loaded.config().rotation().isPresent();
        String rotated = isRotated ? ", rotated" : "";
        line(
                "weights",
                integers.map(profile -> "quantised, " + profile.id() + rotated).orElse("in floating point" + rotated));
        line("rows", Integer.toString(result.rows()));
        line("max |Δlogit|", error(result.maxLogitError(), GoldenResult.LOGIT_TOLERANCE));
        result.maxMtpLogitError()
                .ifPresent(mtp -> line("max |Δlogit| of the MTP layer", error(mtp, GoldenResult.LOGIT_TOLERANCE)));
        line(
                "max |Δhidden|",
                isRotated ? "not compared, as the residual stream is rotated" : error(result.maxHiddenError()));
        line("differing selections", result.differingSelections() + " of " + result.comparedSelections());
        line("equal greedy ids", result.equalGreedyIds() + " of " + result.greedyIds());
        line("max |Δlogprob|", error(result.maxLogprobError(), GoldenResult.LOGPROB_TOLERANCE));
        if (result.roundedFrequencies()) {
            line("note", "agrees only with rotary frequencies rounded to bfloat16, as its reference had them");
        }
        if (result.withinTolerance()) {
            line("result", "within tolerance");
        } else {
            beyond(integers);
        }
        console.out().flush();
    }

    private void beyond(Optional<WeightProfile> integers) {
        if (integers.isEmpty()) {
            line("result", "BEYOND TOLERANCE");
            return;
        }
        line(
                "note",
                "the tolerances are those of weights in floating point, which quantised ones cannot meet;"
                        + " what quantising cost is in " + ModelQuantizer.REPORT + " where `millrace quantize` made the"
                        + " folder");
        String profile = integers.get().id();
        line("result", "BEYOND TOLERANCE of weights in floating point, as quantised ones (" + profile + ") are");
    }

    private static String error(double value) {
        return String.format(Locale.ROOT, "%.2e", value);
    }

    private static String error(double value, double tolerance) {
        return error(value) + String.format(Locale.ROOT, " (tolerance %.0e)", tolerance);
    }

    private void line(String what, String found) {
        console.out().println(what + ": " + found);
    }
}
