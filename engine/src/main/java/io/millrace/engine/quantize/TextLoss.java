package io.millrace.engine.quantize;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import io.millrace.engine.kv.PagePool;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.model.StepGate;
import io.millrace.engine.model.StepInput;
import io.millrace.engine.model.StepPriority;
import io.millrace.engine.model.Transformer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/// How well a model predicts a text.
///
/// @param nats    sum of the negative log-probabilities of the counted tokens
/// @param tokens  counted tokens
public record TextLoss(double nats, long tokens) {
    /// The largest perplexity of a text that a model knows. Language models have ones or tens on text of the
    /// kind they were taught, hundreds on what is foreign to them, and as many as there are tokens by guessing.
    public static final int KNOWN_PERPLEXITY = 100;

    private static final int MAX_ROWS = 256;

    /// Nats per token; 0 if none counts.
    public double perToken() {
        return tokens == 0 ? 0 : nats / tokens;
    }

    public double perplexity() {
        return Math.exp(perToken());
    }

    /// Whether the model knows this kind of text: what it loses on one that it does not know tells little.
    public boolean isOfKnownText() {
        return perplexity() <= KNOWN_PERPLEXITY;
    }

    /// Told how far the measuring is.
    @FunctionalInterface
    interface Progress {
        void measured(int sequences);
    }

    /// Measures a model on sequences, each from its own start, the draft layer computed as well.
    static TextLoss of(LoadedModel model, List<TokenSequence> sequences, Progress progress) {
        int longest = sequences.stream().mapToInt(TokenSequence::length).max().orElse(1);
        StepInput input = new StepInput(MAX_ROWS, 1);
        TextLoss total = new TextLoss(0, 0);
        try (Arena arena = Arena.ofShared();
                PagePool pool = PagePool.create(model.layout(), PagePool.pagesFor(longest));
                Transformer transformer = new Transformer(model, pool, input)) {
            long bytes = (long) MAX_ROWS * model.config().vocabSize() * Float.BYTES;
            Run run = new Run(model, transformer, input, arena.allocate(bytes, 64));
            int[] pages = new int[pool.pages()];
            for (int i = 0; i < pages.length; i++) {
                pages[i] = pool.allocate();
            }
            int done = 0;
            for (TokenSequence sequence : sequences) {
                TextLoss loss = run.measure(sequence, pages);
                total = new TextLoss(total.nats + loss.nats, total.tokens + loss.tokens);
                progress.measured(++done);
            }
        }
        return total;
    }

    private record Run(LoadedModel model, Transformer transformer, StepInput input, MemorySegment logits) {

        TextLoss measure(TokenSequence sequence, int[] pages) {
            float[] state = new float[model.config().hiddenSize()];
            double nats = 0;
            long tokens = 0;
            for (int from = 0; from < sequence.length(); from += MAX_ROWS) {
                int count = Math.min(MAX_ROWS, sequence.length() - from);
                step(sequence, pages, from, count, state);
                transformer.state(count - 1, state);
                for (int i = 0; i < count; i++) {
                    int next = from + i + 1;
                    if (next < sequence.length() && sequence.isCounted(next)) {
                        nats += loss(i, sequence.id(next));
                        tokens++;
                    }
                }
            }
            return new TextLoss(nats, tokens);
        }

        private void step(TokenSequence sequence, int[] pages, int from, int count, float[] state) {
            input.clear();
            input.addSequence(pages, from, state);
            int[] rows = new int[count];
            for (int i = 0; i < count; i++) {
                input.addToken(sequence.id(from + i));
                rows[i] = i;
            }
            try (StepGate.Turn _ = model.gate().enter(StepPriority.PREFILL)) {
                transformer.forward(input);
                if (model.config().mtpLayers() > 0 && from + count > 1) {
                    transformer.predict();
                }
                transformer.logits(rows, count, logits);
            }
        }

        private double loss(int row, int id) {
            int vocabSize = model.config().vocabSize();
            long at = (long) row * vocabSize;
            float best = Float.NEGATIVE_INFINITY;
            for (int i = 0; i < vocabSize; i++) {
                best = Math.max(best, logits.getAtIndex(JAVA_FLOAT, at + i));
            }
            double sum = 0;
            for (int i = 0; i < vocabSize; i++) {
                sum += Math.exp((double) logits.getAtIndex(JAVA_FLOAT, at + i) - best);
            }
            return Math.log(sum) - (logits.getAtIndex(JAVA_FLOAT, at + id) - best);
        }
    }
}
