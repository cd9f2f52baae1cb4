package io.millrace.standalone.command;

import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.quantize.CalibrationText;
import io.millrace.engine.quantize.ModelQuantizer;
import io.millrace.engine.quantize.QuantizeProgress;
import io.millrace.engine.quantize.QuantizeReport;
import io.millrace.engine.quantize.QuantizeSettings;
import io.millrace.standalone.keys.GivenKeys;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/// `millrace quantize`: an integer checkpoint from a floating-point one.
@Command(
        name = "quantize",
        description = {
            "Writes a model in int8, or with routed experts in int4, as a Hugging Face checkpoint in"
                    + " compressed-tensors conventions.",
            "A rotation is folded into the weights, which only Millrace can undo: for other programs give"
                    + " --no-rotation.",
            "Prints a report and leaves it in the new folder as " + ModelQuantizer.REPORT + ". A perplexity above 100"
                    + " before quantising is warned of: the model does not know that text."
        })
public final class QuantizeCommand implements Callable<Integer> {
    private final Console console;

    @Mixin
    private ModelOption model = new ModelOption();

    @Mixin
    private OutOption out = new OutOption();

    @Option(
            names = "--profile",
            paramLabel = "NAME",
            required = true,
            description = "w8a8: int8 weights; w4a8: the same with routed experts in int4.")
    private String profile = "";

    @Option(
            names = "--calibration",
            paramLabel = "FILE",
            converter = GivenPath.OfFile.class,
            description = "Text to learn inputs from and to measure on, plain or .jsonl with messages, text or ids"
                    + " (default: " + CalibrationText.FILE + " in the model's folder, else some dialogues that come"
                    + " with the program). A quarter is used for measuring alone. At most "
                    + CalibrationText.MAX_CHARACTERS + " characters in a line, or in a plain text.")
    private @Nullable Path calibration;

    @Option(names = "--no-rotation", description = "Fold no rotation into the weights.")
    private boolean withoutRotation;

    @Option(
            names = "--no-scale-search",
            description =
                    "Take scales from the largest magnitudes, and leave inner channels of feed-forwards as they are.")
    private boolean withoutSearch;

    @Mixin
    private KernelOptions kernelOptions = new KernelOptions();

    public QuantizeCommand(Console console) {
        this.console = console;
    }

    @Override
    public Integer call() throws IOException {
        GivenKeys keys = new GivenKeys(kernelOptions.given());
        QuantizeSettings settings = settings().computedBy(keys.engine().kernels());
        new ModelQuantizer(model.directory(), out.directory(), settings, QuantizeProgress.SILENT).require();
        CalibrationText text = CalibrationText.read(
                model.directory(), ModelConfig.read(model.directory()).vocabSize(), calibration);
        QuantizeReport report;
        try (QuantizeBar bar = new QuantizeBar(LoadingBar.hasTerminal(), console.err(), System::nanoTime)) {
            report = keys.naming(() -> new ModelQuantizer(model.directory(), out.directory(), settings, bar).run(text));
        }
        report.lines().forEach(console.out()::println);
        console.out().flush();
        return ExitCode.OK;
    }

    private QuantizeSettings settings() {
        QuantizeSettings settings = QuantizeSettings.of(
                switch (profile) {
                    case "w8a8" -> WeightProfile.W8A8;
                    case "w4a8" -> WeightProfile.W4A8;
                    default ->
                        throw new IllegalArgumentException("--profile: \"" + profile + "\" (expected: w8a8 or w4a8)");
                });
        settings = withoutRotation ? settings.withoutRotation() : settings;
        return withoutSearch ? settings.withoutSearch() : settings;
    }
}
