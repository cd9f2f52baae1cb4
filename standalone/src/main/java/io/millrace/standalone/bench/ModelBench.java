package io.millrace.standalone.bench;

import io.millrace.engine.kv.PagePool;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.model.StepGate;
import io.millrace.engine.model.StepInput;
import io.millrace.engine.model.StepPriority;
import io.millrace.engine.model.Transformer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;

/// Runs steps of one sequence of random tokens and times them.
final class ModelBench implements AutoCloseable {
    private static final int WARM_UP_TOKENS = 4;
    private static final int ALIGNMENT = 64;

    private final LoadedModel model;
    private final TimedKernels timed;
    private final BenchSettings settings;
    private final PagePool pool;
    private final Transformer transformer;
    private final StepInput input;
    private final int[] pages;
    private final float[] state;
    private final SplittableRandom random = new SplittableRandom(2);
    private final Arena arena = Arena.ofShared();
    private final MemorySegment logits;
    private final int[] lastRow = new int[1];

    /// Borrows the model. The first slots of the sequence are random keys.
    ///
    /// @param timed  the model's kernels
    ModelBench(LoadedModel model, TimedKernels timed, BenchSettings settings) {
        this.model = model;
        this.timed = timed;
        this.settings = settings;
        this.pool = PagePool.create(model.layout(), PagePool.pagesFor(settings.slots()));
        this.input = new StepInput(settings.chunk(), 1);
        this.transformer = new Transformer(model, pool, input);
        this.pages = new int[pool.pages()];
        for (int i = 0; i < pages.length; i++) {
            pages[i] = pool.allocate();
        }
        this.state = new float[model.config().hiddenSize()];
        for (int i = 0; i < state.length; i++) {
            state[i] = (float) random.nextDouble(-2, 2);
        }
        this.logits = arena.allocate((long) model.config().vocabSize() * Float.BYTES, ALIGNMENT);
        new RandomKeys(pool).fill(model.config(), pages, settings.deepest());
    }

    /// Bytes of the pool of cached keys.
    long poolBytes() {
        return pool.memory().byteSize();
    }

    /// Touches everything once.
    void warmUp() {
        prefillOnce(0, Math.min(settings.slots(), settings.chunk()));
        decodeOnce(0, Math.min(settings.slots(), WARM_UP_TOKENS));
    }

    /// Seconds of a prompt, for each measurement.
    double[] prefill(int depth, int tokens) {
        double[] seconds = new double[settings.repeats()];
        timed.reset();
        for (int i = 0; i < seconds.length; i++) {
            seconds[i] = prefillOnce(depth, tokens);
        }
        return seconds;
    }

    /// Seconds of tokens decoded one by one, for each measurement.
    double[] decode(int depth, int tokens) {
        double[] seconds = new double[settings.repeats()];
        timed.reset();
        for (int i = 0; i < seconds.length; i++) {
            seconds[i] = decodeOnce(depth, tokens);
        }
        return seconds;
    }

    /// Microseconds a token inside each operator, over the measurements last made.
    Map<String, Double> microsPerToken(int tokens) {
        Map<String, Double> micros = new LinkedHashMap<>();
        timed.nanos()
                .forEach((operator, nanos) ->
                        micros.put(operator, nanos / 1e3 / ((double) tokens * settings.repeats())));
        return micros;
    }

    private double prefillOnce(int depth, int tokens) {
        long started = System.nanoTime();
        for (int done = 0; done < tokens; done += settings.chunk()) {
            int rows = Math.min(settings.chunk(), tokens - done);
            step(depth + done, rows, done + rows == tokens, StepPriority.PREFILL);
        }
        return (System.nanoTime() - started) / 1e9;
    }

    private double decodeOnce(int depth, int tokens) {
        long started = System.nanoTime();
        for (int i = 0; i < tokens; i++) {
            step(depth + i, 1, true, StepPriority.DECODE);
        }
        return (System.nanoTime() - started) / 1e9;
    }

    private void step(int slot, int rows, boolean withLogits, StepPriority priority) {
        input.clear();
        input.addSequence(pages, slot, state);
        for (int i = 0; i < rows; i++) {
            input.addToken(random.nextInt(model.config().vocabSize()));
        }
        try (StepGate.Turn _ = model.gate().enter(priority)) {
            transformer.forward(input);
            if (withLogits) {
                lastRow[0] = rows - 1;
                transformer.logits(lastRow, 1, logits);
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
