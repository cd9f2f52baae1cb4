package io.millrace.standalone.command;

import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.model.ModelPack;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.synthetic.SyntheticModel;
import io.millrace.kernels.MlaForm;
import io.millrace.standalone.keys.GivenKeys;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/// `millrace synthesize`: a model of random weights in any shape.
@Command(
        name = "synthesize",
        description = {
            "Writes a model folder of random weights in the shape of a config.json, to measure speed with.",
            "The weights are written packed, for the kernels of this machine; every service loads the folder.",
            "Keys of the config.json that are not known are ignored, but one that looks like a misspelt known one"
                    + " is refused."
        })
public final class SynthesizeCommand implements Callable<Integer> {
    private final Console console;

    @Option(
            names = "--config",
            paramLabel = "FILE",
            converter = GivenPath.OfFile.class,
            required = true,
            description = "The shape: a config.json.")
    private Path config = Path.of("");

    @Mixin
    private OutOption out = new OutOption();

    @Option(
            names = "--profile",
            paramLabel = "NAME",
            required = true,
            description = "Number formats of the weights: bf16, w8a8 or w4a8.")
    private String profile = "";

    @Option(
            names = "--tokenizer",
            paramLabel = "DIR",
            converter = GivenPath.OfFolder.class,
            description = "Folder whose tokenizer and chat template the model gets (default: the embedded model's).")
    private @Nullable Path tokenizer;

    @Mixin
    private KernelOptions kernelOptions = new KernelOptions();

    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "1",
            converter = WholeNumbers.Seed.class,
            description = "What the weights follow from (default: ${DEFAULT-VALUE}).")
    private long seed = 1;

    public SynthesizeCommand(Console console) {
        this.console = console;
    }

    @Override
    public Integer call() throws IOException {
        WeightProfile formats = profile();
        GivenKeys keys = new GivenKeys(kernelOptions.given());
        KernelSettings kernels = keys.engine().kernels();
        Path from = tokenizer == null ? new ModelOption().directory() : tokenizer;
        if (!Files.exists(from.resolve("tokenizer.json"))) {
            throw new IllegalArgumentException("--tokenizer: " + from + " (expected: a folder with tokenizer.json)");
        }
        SyntheticModel model = new SyntheticModel(config, formats, from, kernels, seed);
        ModelConfig shape;
        try (LoadingBar bar = new LoadingBar(LoadingBar.hasTerminal(), "writing")) {
            shape = keys.naming(() -> model.write(out.directory(), bar));
        }
        long weights = ModelPack.plan(shape, formats, MlaForm.ABSORBED).elements();
        long bytes = Files.size(out.directory().resolve(ModelPack.FILE_NAME));
        console.out()
                .printf(
                        "%s: %,d random weights, profile %s, %,d bytes%n",
                        out.directory(), weights, formats.id(), bytes);
        console.out().flush();
        return ExitCode.OK;
    }

    private WeightProfile profile() {
        return switch (profile) {
            case "bf16" -> WeightProfile.BF16;
            case "w8a8" -> WeightProfile.W8A8;
            case "w4a8" -> WeightProfile.W4A8;
            default ->
                throw new IllegalArgumentException("--profile: \"" + profile + "\" (expected: bf16, w8a8 or w4a8)");
        };
    }
}
