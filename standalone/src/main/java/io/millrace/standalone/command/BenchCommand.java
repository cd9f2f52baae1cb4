package io.millrace.standalone.command;

import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.engine.settings.EngineSettings;
import io.millrace.engine.settings.KernelSettings;
import io.millrace.engine.synthetic.SyntheticModel;
import io.millrace.standalone.bench.BenchPlot;
import io.millrace.standalone.bench.BenchReport;
import io.millrace.standalone.bench.BenchRun;
import io.millrace.standalone.bench.BenchSettings;
import io.millrace.standalone.bench.BenchSetup;
import io.millrace.standalone.bench.PeerBench;
import io.millrace.standalone.bench.StoredFormats;
import io.millrace.standalone.bench.TemporaryFolder;
import io.millrace.standalone.keys.GivenKey;
import io.millrace.standalone.keys.GivenKeys;
import io.millrace.standalone.suite.ModelFolder;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/// `millrace bench`: speed of whole models beside the limits of the machine.
@Command(
        name = "bench",
        description = {
            "Measures prefill and decode speed of a model, or of random weights in any shape, and how much of the"
                    + " machine's limits that is: read bandwidth for decoding, products a second for prefill."
                    + " The machine is measured right before and after each measurement; the best counts.",
            "Each row's work is done for a second or longer, until it is compiled, before it is measured.",
            "Cached tokens of a depth are random keys, not computed. Decode steps feed random tokens.",
            "Where the environment variables LLAMA_BENCH or SWEEP_BENCH name a llama-bench (of llama.cpp) or a"
                    + " llama-sweep-bench (of ik_llama.cpp) and LLAMA_GGUF a model for them, their figures stand in the"
                    + " same table. They run after the models, one after the other, with the same threads."
        })
public final class BenchCommand implements Callable<Integer> {
    private static final long SEED = 1;

    private final Console console;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private ModelOption model = new ModelOption();

    @Option(
            names = "--synthetic",
            paramLabel = "CONFIG",
            converter = GivenPath.OfFile.class,
            description = "A config.json: measure random weights in its shape, made in a temporary folder.")
    private @Nullable Path synthetic;

    @Option(
            names = "--profile",
            paramLabel = "NAMES",
            split = ",",
            description = "Number formats of the weights, one model after the other: checkpoint (as the folder stores"
                    + " them; not with --synthetic), bf16, w8a8 or w4a8 (default: checkpoint for a folder that is"
                    + " quantised or packed already, else w8a8).")
    private List<String> profiles = new ArrayList<>();

    @Option(
            names = "--prefill",
            paramLabel = "LENGTHS",
            defaultValue = "512",
            description = "Prompt lengths, separated by commas; empty for none (default: ${DEFAULT-VALUE}).")
    private String prefill = "";

    @Option(
            names = "--decode",
            paramLabel = "N",
            defaultValue = "64",
            converter = BenchNumbers.Decoded.class,
            description = "Tokens decoded one by one; 0 for none (default: ${DEFAULT-VALUE}).")
    private int decode;

    @Option(
            names = "--verify",
            paramLabel = "ROWS",
            defaultValue = "",
            description = "Tokens of a step that verifies drafts, separated by commas, e.g. 2,4: as many steps as"
                    + " --decode says, or 32 (default: none).")
    private String verify = "";

    @Option(
            names = "--depth",
            paramLabel = "DEPTHS",
            defaultValue = "0",
            description = "Cached tokens before them, separated by commas (default: ${DEFAULT-VALUE}).")
    private String depths = "";

    @Option(
            names = "--dsa",
            paramLabel = "MODES",
            split = ",",
            defaultValue = "auto",
            description = "auto: sparse attention as the model has it; dense: over all tokens; or both"
                    + " (default: ${DEFAULT-VALUE}).")
    private List<String> dsa = new ArrayList<>();

    @Option(
            names = {"--kv-format", "--kv"},
            paramLabel = "NAME",
            defaultValue = "bf16",
            description = "Number format of cached keys: f32, bf16 or int8 (default: ${DEFAULT-VALUE}).")
    private String kv = "bf16";

    @Mixin
    private KernelOptions kernelOptions = new KernelOptions();

    @Option(
            names = "--chunk",
            paramLabel = "ROWS",
            defaultValue = "512",
            converter = BenchNumbers.Chunk.class,
            description = "Most tokens of a prefill step (default: ${DEFAULT-VALUE}).")
    private int chunk;

    @Option(
            names = "--repeats",
            paramLabel = "N",
            defaultValue = "5",
            converter = BenchNumbers.Repeats.class,
            description = "Measurements of each kind; the table has the median speed (default: ${DEFAULT-VALUE}).")
    private int repeats;

    @Option(
            names = "--warm-up-seconds",
            paramLabel = "N",
            defaultValue = "20",
            converter = BenchNumbers.WarmUpSeconds.class,
            description = "Most seconds that each row's work is done before it is measured, should it not be compiled"
                    + " earlier; 0 for doing it once, whose figures are too low (default: ${DEFAULT-VALUE}).")
    private int warmUpSeconds;

    @Option(
            names = "--peer-minutes",
            paramLabel = "N",
            defaultValue = "120",
            converter = WholeNumbers.Count.class,
            description = "Minutes that LLAMA_BENCH and SWEEP_BENCH may take each (default: ${DEFAULT-VALUE}).")
    private int peerMinutes;

    @Option(
            names = "--json",
            paramLabel = "FILE",
            converter = GivenPath.OfFile.class,
            description = "Write the rows as a JSON array, what they were measured under first.")
    private @Nullable Path json;

    @Option(
            names = "--svg",
            paramLabel = "FILE",
            converter = GivenPath.OfFile.class,
            description = "Draw the rows, bars against limits.")
    private @Nullable Path svg;

    public BenchCommand(Console console) {
        this.console = console;
    }

    @Override
    public Integer call() throws IOException {
        if (synthetic != null && model.isGiven()) {
            throw new IllegalArgumentException("--synthetic: " + synthetic + " beside --model (expected: one of them)");
        }
        GivenKeys keys = keys();
        BenchSettings settings = settings(keys.engine());
        requireWritable("--json", json);
        requireWritable("--svg", svg);
        return keys.naming(() -> measure(settings));
    }

    private int measure(BenchSettings settings) throws IOException {
        PeerBench peers =
                new PeerBench(console.environment(), settings, Duration.ofMinutes(peerMinutes), console::note);
        peers.check();
        LoadingBar bar = new LoadingBar(LoadingBar.hasTerminal());
        BenchRun run = new BenchRun(settings, console::note, bar);
        try (bar) {
            if (synthetic == null) {
                run.run(profile -> model.directory());
            } else {
                ofShape(run, synthetic, settings.kernels(), bar);
            }
            if (!peers.variables().isEmpty()) {
                // Kept should the others be waited for in vain.
                writeFiles(run.report(setup(settings, peers)));
            }
            peers.run(run::add);
        } finally {
            // Of a run that fails the rows it had finished; the failure is told after them.
            write(run.report(setup(settings, peers)));
        }
        return ExitCode.OK;
    }

    private void write(BenchReport report) throws IOException {
        if (report.rows().isEmpty()) {
            return;
        }
        report.lines().forEach(console.out()::println);
        console.out().flush();
        writeFiles(report);
    }

    private void writeFiles(BenchReport report) throws IOException {
        if (json != null) {
            new OutputFile("--json", json).write(report.json());
        }
        if (svg != null) {
            new OutputFile("--svg", svg).write(BenchPlot.svg(report));
        }
    }

    // One model at a time is on the disk.
    private static void ofShape(BenchRun run, Path config, KernelSettings kernels, LoadProgress progress)
            throws IOException {
        try (TemporaryFolder temporary = TemporaryFolder.create()) {
            run.run(profile -> {
                Path made = temporary.next();
                new SyntheticModel(config, profile, new ModelOption().directory(), kernels, SEED).write(made, progress);
                return made;
            });
        }
    }

    private static void requireWritable(String option, @Nullable Path file) {
        if (file != null) {
            new OutputFile(option, file).require();
        }
    }

    private GivenKeys keys() {
        Map<String, GivenKey> given = kernelOptions.withThreads();
        given.put("millrace.kv.format", new GivenKey(kv, "--kv-format"));
        return new GivenKeys(given);
    }

    private BenchSettings settings(EngineSettings engine) {
        List<Boolean> dense = new ArrayList<>();
        for (String mode : dsa) {
            dense.add(
                    switch (mode) {
                        case "auto" -> false;
                        case "dense" -> true;
                        default ->
                            throw new IllegalArgumentException("--dsa: \"" + mode + "\" (expected: auto or dense)");
                    });
        }
        return new BenchSettings(
                profiles(),
                dense,
                BenchNumbers.list("--prefill", prefill, 1, BenchSettings.MAX_TOKENS),
                decode,
                BenchNumbers.list("--verify", verify, 1, BenchSettings.MAX_VERIFY),
                BenchNumbers.list("--depth", depths, 0, BenchSettings.MAX_TOKENS),
                engine.kv().format(),
                chunk,
                repeats,
                warmUpSeconds,
                engine.kernels());
    }

    private BenchSetup setup(BenchSettings settings, PeerBench peers) {
        String version = BenchCommand.class.getPackage().getImplementationVersion();
        return new BenchSetup(
                modelName(),
                settings.kv().name().toLowerCase(Locale.ROOT),
                settings.chunk(),
                settings.kernels().threads(),
                version == null ? "(development build)" : version,
                Instant.now().truncatedTo(ChronoUnit.SECONDS),
                spec.root().commandLine().getParseResult().originalArgs(),
                peers.variables(),
                BenchSetup.systemLoadAverage());
    }

    // A config.json is named by its folder as well.
    private String modelName() {
        Path path = (synthetic == null ? model.directory() : synthetic)
                .toAbsolutePath()
                .normalize();
        int names = path.getNameCount();
        int shown = synthetic != null && path.endsWith("config.json") ? 2 : 1;
        return path.subpath(Math.max(0, names - shown), names).toString();
    }

    private List<WeightProfile> profiles() {
        List<WeightProfile> taken = new ArrayList<>(List.of(WeightProfile.values()));
        if (synthetic != null) {
            taken.remove(WeightProfile.CHECKPOINT);
        }
        List<WeightProfile> asked = new ArrayList<>();
        for (String name : profiles) {
            asked.add(taken.stream()
                    .filter(one -> one.id().equals(name))
                    .findFirst()
                    .orElseThrow(() -> new IllegalArgumentException("--profile: \"" + name + "\" (expected: "
                            + taken.stream().map(WeightProfile::id).collect(Collectors.joining(", "))
                            + (synthetic == null ? ")" : "; random weights have no other)"))));
        }
        if (synthetic != null) {
            return asked.isEmpty() ? List.of(WeightProfile.W8A8) : asked;
        }
        ModelFolder.require(model.directory());
        return StoredFormats.of(model.directory()).choose(asked);
    }
}
