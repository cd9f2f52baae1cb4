package io.millrace.standalone.bench;

import io.millrace.engine.kv.PagePool;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.model.StepGate;
import io.millrace.engine.model.StepInput;
import io.millrace.engine.model.StepPriority;
import io.millrace.engine.model.Transformer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.DoubleStream;

/// Runs steps of one sequence of random tokens and times them.
final class ModelBench implements AutoCloseable {
    private static final long MIN_WARM_UP_NANOS = 1_000_000_000L;
    private static final double QUIET = 0.01; // compiling, of the time
    private static final long FIRST_SEED = 100;
    private static final int ALIGNMENT = 64;

    private final LoadedModel model;
    private final TimedKernels timed;
    private final BenchSettings settings;
    private final PagePool pool;
    private final Transformer transformer;
    private final StepInput input;
    private final int[] pages;
    private final float[] state;
    private final CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
    private final SplittableRandom warmUpTokens = new SplittableRandom(2);
    private final Arena arena = Arena.ofShared();
    private final MemorySegment logits;
    private final int[] logitRows;

    /// Borrows the model. The first slots of the sequence are random keys.
    ///
    /// @param timed  the model's kernels
    ModelBench(LoadedModel model, TimedKernels timed, BenchSettings settings) {
        this.model = model;
        this.timed = timed;
        this.settings = settings;
        this.pool = PagePool.create(model.layout(), PagePool.pagesFor(settings.slots()));
        this.input = new StepInput(settings.maxRows(), 1);
        this.transformer = new Transformer(model, pool, input);
        this.pages = new int[pool.pages()];
        for (int i = 0; i < pages.length; i++) {
            pages[i] = pool.allocate();
        }
        this.state = new float[model.config().hiddenSize()];
        for (int i = 0; i < state.length; i++) {
            state[i] = (float) warmUpTokens.nextDouble(-2, 2);
        }
        int mostLogits = 1;
        for (BenchWork work : settings.works()) {
            mostLogits = Math.max(mostLogits, work.logitRows(0));
        }
        this.logitRows = new int[mostLogits];
        this.logits = arena.allocate((long) mostLogits * model.config().vocabSize() * Float.BYTES, ALIGNMENT);
        new RandomKeys(pool).fill(model.config(), pages, settings.deepest());
    }

    /// Bytes of the pool of cached keys.
    long poolBytes() {
        return pool.memory().byteSize();
    }

    /// Speed and where the time went.
    ///
    /// @param seconds            of each measurement
    /// @param medianStepSeconds  of all steps of all measurements
    /// @param microsPerToken     inside each operator, the median of the measurements
    @SuppressWarnings("ArrayRecordComponent") // handed on once
    record Measured(double[] seconds, double medianStepSeconds, Map<String, Double> microsPerToken) {}

    /// Does some work unmeasured, with other tokens, until everything it needs was touched and compiled, which
    /// stops whoever computes; or until the longest time of the settings is over.
    void warmUp(BenchWork work) {
        long most = TimeUnit.SECONDS.toNanos(settings.warmUpSeconds());
        long least = Math.min(most, MIN_WARM_UP_NANOS);
        long started = System.nanoTime();
        boolean quiet;
        do {
            long compiled = compiler.getTotalCompilationTime();
            double seconds = sum(once(work, warmUpTokens));
            quiet = (compiler.getTotalCompilationTime() - compiled) / 1e3 < QUIET * seconds;
        } while (System.nanoTime() - started < (quiet ? least : most));
    }

    /// Measures some work as often as the settings say; all measurements start at the same depth.
    ///
    /// @param between  run after each measurement
    Measured measure(BenchWork work, Runnable between) {
        double[] seconds = new double[settings.repeats()];
        DoubleStream.Builder steps = DoubleStream.builder();
        List<Map<String, Long>> nanos = new ArrayList<>();
        for (int i = 0; i < seconds.length; i++) {
            timed.reset();
            double[] repeat = once(work, tokens(i));
            seconds[i] = sum(repeat);
            Arrays.stream(repeat).forEach(steps::add);
            nanos.add(timed.nanos());
            between.run();
        }
        Map<String, Double> micros = new LinkedHashMap<>();
        for (String operator : nanos.getFirst().keySet()) {
            double[] times = nanos.stream()
                    .mapToDouble(repeat -> repeat.getOrDefault(operator, 0L) / 1e3 / work.tokens())
                    .toArray();
            micros.put(operator, BenchRow.Speed.median(times));
        }
        return new Measured(seconds, BenchRow.Speed.median(steps.build().toArray()), micros);
    }

    /// Does what [#measure] will measure, with the same tokens, and counts the bytes of routed experts and cached
    /// keys that its steps touch: bytes a token, on the average.
    double touchedPerToken(BenchWork work) {
        try (TouchedBytes touched =
                new TouchedBytes(work.rowsPerStep(), model.config().gating().experts())) {
            timed.count(touched);
            for (int i = 0; i < settings.repeats(); i++) {
                once(work, tokens(i));
            }
            return touched.bytes() / ((double) work.tokens() * settings.repeats());
        } finally {
            timed.count(null);
        }
    }

    private static SplittableRandom tokens(int repeat) {
        return new SplittableRandom(FIRST_SEED + repeat);
    }

    private static double sum(double[] seconds) {
        return Arrays.stream(seconds).sum();
    }

    // Seconds of each step.
    private double[] once(BenchWork work, SplittableRandom tokens) {
        StepPriority priority = switch (work.phase()) {
            case PREFILL -> StepPriority.PREFILL;
            case DECODE, VERIFY -> StepPriority.DECODE;
        };
        double[] seconds = new double[Math.ceilDiv(work.tokens(), work.rowsPerStep())];
        long started = System.nanoTime();
        for (int i = 0, done = 0; i < seconds.length; i++, done += work.rowsPerStep()) {
            int rows = work.rows(done);
            input.clear();
            input.addSequence(pages, work.depth() + done, state);
            for (int row = 0; row < rows; row++) {
                input.addToken(tokens.nextInt(model.config().vocabSize()));
            }
            step(rows, work.logitRows(done), priority);
            long ended = System.nanoTime();
            seconds[i] = (ended - started) / 1e9;
            started = ended;
        }
        return seconds;
    }

    private void step(int rows, int logitCount, StepPriority priority) {
        try (StepGate.Turn _ = model.gate().enter(priority)) {
            transformer.forward(input);
            for (int i = 0; i < logitCount; i++) {
                logitRows[i] = rows - logitCount + i;
            }
            if (logitCount > 0) {
                transformer.logits(logitRows, logitCount, logits);
            }
        }
    }

    @Override
    public void close() {
        transformer.close();
        pool.close();
        arena.close();
    }
}
