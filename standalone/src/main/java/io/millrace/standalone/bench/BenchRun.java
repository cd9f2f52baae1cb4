package io.millrace.standalone.bench;

import io.millrace.engine.checkpoint.ModelConfig;
import io.millrace.engine.model.LoadProgress;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.profile.WeightProfile;
import io.millrace.kernels.nativecode.MachineLimits;
import io.millrace.kernels.nativecode.NativeKernels;
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

/// Measures models one after the other, and the machine before, after and every few seconds in between: the
/// best of these measurements is the machine's limit.
public final class BenchRun {
    private static final double PACK_FACTOR = 1.15;
    private static final long REST_BYTES = 250L << 20;
    private static final int MIB = 1 << 20;
    private static final long LIMITS_NANOS = 20_000_000_000L;

    private final BenchSettings settings;
    private final Consumer<String> notes;
    private final LoadProgress progress;
    private final List<Measured> measured = new ArrayList<>();
    private Optional<MachineLimits> limits = Optional.empty();
    private long limitsNanos;
    private long peakBytes;

    /// Where a model is.
    @FunctionalInterface
    public interface ModelSource {
        /// The folder of the model in some number formats; made first if it has to be.
        Path folder(WeightProfile profile) throws IOException;
    }

    private record Measured(BenchRow row, ModelCost cost) {}

    /// @param notes     told a sentence now and then
    /// @param progress  told how loading goes
    public BenchRun(BenchSettings settings, Consumer<String> notes, LoadProgress progress) {
        this.settings = settings;
        this.notes = notes;
        this.progress = progress;
    }

    /// Measures everything.
    public BenchReport run(ModelSource source) throws IOException {
        for (WeightProfile profile : settings.profiles()) {
            Path folder = source.folder(profile);
            check(ModelConfig.read(folder));
            for (boolean dense : settings.dense()) {
                measure(folder, profile, dense);
            }
        }
        measureMachineAgain();
        List<BenchRow> rows = new ArrayList<>();
        for (Measured each : measured) {
            rows.add(each.row.withLimit(limit(each)));
        }
        return new BenchReport(limits, rows);
    }

    private void check(ModelConfig config) {
        if (settings.slots() > config.maxPositionEmbeddings()) {
            throw new IllegalArgumentException("--depth and --prefill or --decode: " + settings.slots()
                    + " tokens (expected: at most " + config.maxPositionEmbeddings()
                    + ", the model's max_position_embeddings)");
        }
    }

    private void measureMachine() {
        if (NativeKernels.declines().isPresent()) {
            return;
        }
        // Its memory is not the model's.
        peakBytes = Math.max(peakBytes, ResidentMemory.peakBytes().orElse(0));
        MachineLimits now = MachineLimits.measure(
                settings.kernels().threads(), settings.kernels().isaLevel());
        limits = Optional.of(limits.map(now::best).orElse(now));
        limitsNanos = System.nanoTime();
        ResidentMemory.resetPeak();
    }

    private void measureMachineAgain() {
        if (limits.isEmpty() || System.nanoTime() - limitsNanos > LIMITS_NANOS) {
            measureMachine();
        }
    }

    private void measure(Path folder, WeightProfile profile, boolean dense) throws IOException {
        System.gc(); // what synthesis left behind is not the model's
        ResidentMemory.resetPeak();
        peakBytes = 0;
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
            bench.warmUp();
            ModelCost cost = new ModelCost(model.config(), profile, settings.kv(), dense, model.tensorBytes());
            for (int depth : settings.depths()) {
                measure(bench, model, cost, depth);
            }
            noteMemory(model, bench);
        }
    }

    private void measure(ModelBench bench, LoadedModel model, ModelCost cost, int depth) {
        for (int tokens : settings.prefill()) {
            measureMachineAgain();
            double[] seconds = bench.prefill(depth, tokens);
            keep("prefill", bench, model, cost, new Work(tokens, depth, seconds));
        }
        if (settings.decode() > 0) {
            measureMachineAgain();
            double[] seconds = bench.decode(depth, settings.decode());
            keep("decode", bench, model, cost, new Work(settings.decode(), depth, seconds));
        }
    }

    @SuppressWarnings("ArrayRecordComponent") // handed on once
    private record Work(int tokens, int depth, double[] seconds) {}

    private void keep(String phase, ModelBench bench, LoadedModel model, ModelCost cost, Work work) {
        BenchRow row = new BenchRow(
                phase,
                work.tokens,
                work.depth,
                cost.profile().id(),
                model.kernels().name(),
                cost.dense() ? "dense" : "auto",
                BenchRow.Speed.of(work.tokens, work.seconds),
                OptionalDouble.empty(),
                bench.microsPerToken(work.tokens));
        measured.add(new Measured(row, cost));
        notes.accept(String.format(
                Locale.ROOT,
                "%s %s %d tokens at depth %d: %.1f tokens/s",
                row.profile(),
                phase,
                row.tokens(),
                row.depth(),
                row.speed().median()));
    }

    private OptionalDouble limit(Measured each) {
        return limits.map(machine -> OptionalDouble.of(limit(each.row, each.cost, machine)))
                .orElse(OptionalDouble.empty());
    }

    /// Tokens per second at which the machine's limit would be reached: for decoding the bytes that are read
    /// over the bandwidth, for prefill the products over the peaks.
    static double limit(BenchRow row, ModelCost cost, MachineLimits machine) {
        if (row.phase().equals("decode")) {
            return machine.readBytesPerSecond() / cost.decodeBytes(row.depth(), row.tokens());
        }
        ModelCost.Products products = cost.prefill(row.depth(), row.tokens());
        double seconds =
                2 * products.int8() / machine.int8OpsPerSecond() + 2 * products.floats() / machine.floatOpsPerSecond();
        return row.tokens() / seconds;
    }

    private void noteMemory(LoadedModel model, ModelBench bench) throws IOException {
        OptionalLong last = ResidentMemory.peakBytes();
        if (last.isEmpty()) {
            return;
        }
        long peak = Math.max(peakBytes, last.getAsLong());
        long pack = model.packFile().isPresent()
                ? Files.size(model.packFile().get())
                : model.tensorBytes().values().stream()
                        .mapToLong(Long::longValue)
                        .sum();
        long most = (long) (PACK_FACTOR * pack) + bench.poolBytes() + REST_BYTES;
        notes.accept(String.format(
                Locale.ROOT,
                "peak memory in RAM: %,d MiB, %s %,d MiB (1.15 x %,d MiB of weights + %,d MiB of keys + 250 MiB)",
                peak / MIB,
                peak <= most ? "within" : "MORE THAN",
                most / MIB,
                pack / MIB,
                bench.poolBytes() / MIB));
    }
}
