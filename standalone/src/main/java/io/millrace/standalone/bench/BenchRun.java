package io.millrace.standalone.bench;

import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.nativecode.MachineLimits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.function.Consumer;

/// Measures models one after the other, and the machine right before and after each measurement: the best and the
/// typical of that is what a row is compared with.
public final class BenchRun {
    private final BenchSettings settings;
    private final Consumer<String> notes;
    private final LoadProgress progress;
    private final MachineWatch machine;
    private final List<BenchRow> rows = new ArrayList<>();

    /// Where a model is.
    @FunctionalInterface
    public interface ModelSource {
        /// The folder of the model in some number formats; made first if it has to be.
        Path folder(WeightProfile profile) throws IOException;
    }

    /// @param notes     told a sentence now and then
    /// @param progress  told how loading goes
    public BenchRun(BenchSettings settings, Consumer<String> notes, LoadProgress progress) {
        this.settings = settings;
        this.notes = notes;
        this.progress = progress;
        this.machine = new MachineWatch(settings);
    }

    /// Measures everything of the models.
    public void run(ModelSource source) throws IOException {
        for (WeightProfile profile : settings.profiles()) {
            Path folder = source.folder(profile);
            check(ModelConfig.read(folder));
            for (boolean dense : settings.dense()) {
                measure(folder, profile, dense);
            }
        }
    }

    /// Takes a row of another program.
    public void add(BenchRow row) {
        rows.add(row);
    }

    /// What was measured so far.
    public BenchReport report(BenchSetup setup) {
        return new BenchReport(machine.best(), rows, setup);
    }

    private void check(ModelConfig config) {
        if (settings.slots() > config.maxPositionEmbeddings()) {
            throw new IllegalArgumentException("--depth and --prefill, --decode or --verify: " + settings.slots()
                    + " tokens (expected: at most " + config.maxPositionEmbeddings()
                    + ", the model's max_position_embeddings)");
        }
    }

    private void measure(Path folder, WeightProfile profile, boolean dense) throws IOException {
        machine.startModel();
        TimedKernels[] timed = new TimedKernels[1];
        try (LoadedModel model = LoadedModel.load(folder, settings.engine(profile, dense), progress, kernels -> {
                    timed[0] = new TimedKernels(kernels);
                    return timed[0];
                });
                ModelBench bench = new ModelBench(model, timed[0], settings)) {
            if (settings.deepest() > 0) {
                notes.accept(
                        "the " + settings.deepest() + " tokens of the greatest depth are random keys, not computed");
            }
            WeightProfile computed = StoredFormats.of(folder).computed(profile);
            ModelCost cost = new ModelCost(model.config(), computed, settings.kv(), dense, model.tensorBytes());
            for (BenchWork work : settings.works()) {
                measure(bench, model.kernels().name(), cost, work);
            }
            noteMemory(model, bench);
        }
    }

    private void measure(ModelBench bench, String provider, ModelCost cost, BenchWork work) {
        double touched = work.phase() == BenchPhase.VERIFY ? bench.touchedPerToken(work) : 0;
        bench.warmUp(work);
        List<MachineLimits> limits = new ArrayList<>();
        machine.current().ifPresent(limits::add);
        ModelBench.Measured measured =
                bench.measure(work, () -> machine.measure().ifPresent(limits::add));
        BenchRow row = new BenchRow(
                work,
                cost.profile().id(),
                provider,
                cost.dense() ? BenchRow.DENSE : BenchRow.AUTO,
                BenchRow.Speed.of(work.tokens(), measured.seconds()),
                OptionalDouble.of(measured.medianStepSeconds()),
                measured.microsPerToken(),
                Optional.of(cost.of(work, touched)),
                limits.isEmpty() ? Optional.empty() : Optional.of(MachineLimits.around(limits)));
        rows.add(row);
        notes.accept(String.format(
                Locale.ROOT,
                "%s %s, %s: %.1f tokens/s",
                row.profile(),
                work.label(),
                row.dsa(),
                row.speed().median()));
    }

    private void noteMemory(LoadedModel model, ModelBench bench) throws IOException {
        OptionalLong found = machine.peakBytes();
        if (found.isEmpty()) {
            return;
        }
        long peak = found.getAsLong();
        long pack = model.packFile().isPresent()
                ? Files.size(model.packFile().get())
                : model.tensorBytes().values().stream()
                        .mapToLong(Long::longValue)
                        .sum();
        notes.accept(MemoryNote.of(peak, pack, bench.poolBytes()));
    }
}
