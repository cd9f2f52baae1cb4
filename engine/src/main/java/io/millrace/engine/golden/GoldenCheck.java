package io.millrace.engine.golden;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import io.millrace.engine.kv.PagePool;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.model.StepGate;
import io.millrace.engine.model.StepInput;
import io.millrace.engine.model.StepPriority;
import io.millrace.engine.model.Transformer;
import io.millrace.kernels.Bfloat16;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.OptionalDouble;

/// Computes a golden file's prompt and greedy continuation with a loaded model and measures the
/// distance. Reference values are float32 arithmetic from the stored weights, so load the model with KV
/// format `f32`.
///
/// Casting a Hugging Face module to bfloat16 and back, as one does to save a checkpoint, restores the
/// weights but leaves its `inv_freq` buffer rounded, and values computed afterwards belong to those
/// frequencies: wrong by O(1) for the model that was saved, and the weights cannot show it. Three of
/// the golden folders are such. A file that agrees only with rounded frequencies is therefore reported
/// as just that ([GoldenResult#roundedFrequencies()]); serving always uses float32 frequencies.
public final class GoldenCheck implements AutoCloseable {
    private static final int CHUNK_ROWS = 256;
    private static final int ALIGNMENT = 64;

    private final LoadedModel model;
    private final GoldenFile golden;
    private final int[] ids;
    private final int vocabSize;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment logits;

    private GoldenCheck(LoadedModel model, GoldenFile golden) {
        this.model = model;
        this.golden = golden;
        this.ids = golden.inputIds();
        this.vocabSize = model.config().vocabSize();
        this.logits = arena.allocate((long) vocabSize * Float.BYTES, ALIGNMENT);
    }

    /// Runs the comparison, with the model's rotary frequencies and, only if that is beyond tolerance,
    /// with rounded ones. The second result is returned if it is within tolerance, and says so.
    ///
    /// @throws io.millrace.engine.error.MillraceException  if the file is of another model
    public static GoldenResult run(LoadedModel model, GoldenFile golden) {
        golden.requireVocabulary(model.config().vocabSize());
        float[] frequencies = model.config().rope().inverseFrequencies();
        try (GoldenCheck check = new GoldenCheck(model, golden)) {
            GoldenResult exact = check.run(frequencies, false);
            if (exact.withinTolerance()) {
                return exact;
            }
            for (int i = 0; i < frequencies.length; i++) {
                frequencies[i] = Bfloat16.widen(Bfloat16.round(frequencies[i]));
            }
            GoldenResult rounded = check.run(frequencies, true);
            return rounded.withinTolerance() ? rounded : exact;
        }
    }

    private GoldenResult run(float[] frequencies, boolean rounded) {
        int[] greedyIds = golden.greedyIds();
        float[] logprobs = golden.greedyLogprobs();
        int[] prompt = golden.greedyPrompt();
        int tokens = Math.max(ids.length, prompt.length + greedyIds.length);
        StepInput input = new StepInput(CHUNK_ROWS, 1);
        try (PagePool pool = PagePool.create(model.layout(), PagePool.pagesFor(tokens));
                Transformer transformer = new Transformer(model, pool, input, frequencies)) {
            int[] pages = new int[pool.pages()];
            for (int i = 0; i < pages.length; i++) {
                pages[i] = pool.allocate();
            }
            Walk walk = new Walk(transformer, input, pages);
            GoldenObserver observer = new GoldenObserver(model.config(), golden, ids.length);
            transformer.observe(observer);
            Errors errors = prompt(walk);
            transformer.observe(null);
            int equal = 0;
            double logprobError = 0;
            int next = greedyStart(walk, prompt);
            while (equal < greedyIds.length && next == greedyIds[equal]) {
                logprobError = Math.max(logprobError, Math.abs(logprob(next) - logprobs[equal]));
                equal++;
                if (equal < greedyIds.length) {
                    walk.step(new int[] {next}, 0, prompt.length + equal - 1, 1);
                    next = argmax(transformer, 0);
                }
            }
            return new GoldenResult(
                    ids.length,
                    errors.logits,
                    observer.maxHiddenError(),
                    observer.comparedSelections(),
                    observer.differingSelections(),
                    greedyIds.length,
                    equal,
                    logprobError,
                    errors.mtp,
                    rounded);
        }
    }

    private record Errors(double logits, OptionalDouble mtp) {}

    /// One sequence that goes forward step by step.
    private final class Walk {
        private final Transformer transformer;
        private final StepInput input;
        private final int[] pages;
        private final float[] state;

        Walk(Transformer transformer, StepInput input, int[] pages) {
            this.transformer = transformer;
            this.input = input;
            this.pages = pages;
            this.state = new float[model.config().hiddenSize()];
        }

        /// Computes `count` tokens in the slots from `firstSlot` on; `tokens[offset]` is the first of them.
        void step(int[] tokens, int offset, int firstSlot, int count) {
            input.clear();
            input.addSequence(pages, firstSlot, state);
            for (int i = 0; i < count; i++) {
                input.addToken(tokens[offset + i]);
            }
            try (StepGate.Turn _ = model.gate().enter(StepPriority.PREFILL)) {
                transformer.forward(input);
            }
            transformer.state(count - 1, state);
        }
    }

    private Errors prompt(Walk walk) {
        GoldenFile.Table expected = golden.logits(vocabSize);
        Optional<GoldenFile.Table> expectedMtp = golden.mtpLogits(vocabSize);
        double error = 0;
        double mtpError = 0;
        int[] row = new int[1];
        for (int from = 0; from < ids.length; from += CHUNK_ROWS) {
            int count = Math.min(CHUNK_ROWS, ids.length - from);
            walk.step(ids, from, from, count);
            for (row[0] = 0; row[0] < count; row[0]++) {
                walk.transformer.logits(row, 1, logits);
                error = Math.max(error, error(expected, from + row[0]));
            }
            if (expectedMtp.isPresent()) {
                walk.transformer.predict();
                for (row[0] = from == 0 ? 1 : 0; row[0] < count; row[0]++) {
                    walk.transformer.predictedLogits(row, 1, logits);
                    mtpError = Math.max(mtpError, error(expectedMtp.get(), from + row[0] - 1));
                }
            }
        }
        return new Errors(error, expectedMtp.isPresent() ? OptionalDouble.of(mtpError) : OptionalDouble.empty());
    }

    private double error(GoldenFile.Table expected, int row) {
        double error = 0;
        for (int i = 0; i < vocabSize; i++) {
            double delta = Math.abs((double) logits.getAtIndex(JAVA_FLOAT, i) - expected.number(row, i));
            // A NaN on either side is an error, never the smaller one.
            error = delta <= error ? error : Double.isNaN(delta) ? Double.POSITIVE_INFINITY : delta;
        }
        return error;
    }

    private int greedyStart(Walk walk, int[] prompt) {
        int count = 0;
        for (int from = 0; from < prompt.length; from += CHUNK_ROWS) {
            count = Math.min(CHUNK_ROWS, prompt.length - from);
            walk.step(prompt, from, from, count);
        }
        return argmax(walk.transformer, count - 1);
    }

    private int argmax(Transformer transformer, int row) {
        transformer.logits(new int[] {row}, 1, logits);
        int best = 0;
        for (int i = 1; i < vocabSize; i++) {
            if (logits.getAtIndex(JAVA_FLOAT, i) > logits.getAtIndex(JAVA_FLOAT, best)) {
                best = i;
            }
        }
        return best;
    }

    private double logprob(int id) {
        double largest = Double.NEGATIVE_INFINITY;
        for (int i = 0; i < vocabSize; i++) {
            largest = Math.max(largest, logits.getAtIndex(JAVA_FLOAT, i));
        }
        double sum = 0;
        for (int i = 0; i < vocabSize; i++) {
            sum += StrictMath.exp(logits.getAtIndex(JAVA_FLOAT, i) - largest);
        }
        return logits.getAtIndex(JAVA_FLOAT, id) - largest - StrictMath.log(sum);
    }

    @Override
    public void close() {
        arena.close();
    }
}
