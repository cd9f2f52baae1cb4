package io.millrace.engine.model;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import io.millrace.engine.kv.PagePool;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/// A model with a pool and a transformer, driven step by step; keeps every row's logits.
final class ModelRig implements AutoCloseable {
    static final int MAX_ROWS = 256;
    static final int MAX_SEQUENCES = 8;

    final LoadedModel model;
    final PagePool pool;
    final Transformer transformer;
    private final StepInput input = new StepInput(MAX_ROWS, MAX_SEQUENCES);
    private final Arena arena = Arena.ofShared();
    private final MemorySegment logits;
    private final int vocabSize;

    /// Borrows the model.
    ModelRig(LoadedModel model, int pages) {
        this.model = model;
        this.pool = PagePool.create(model.layout(), pages);
        this.transformer = new Transformer(model, pool, input);
        this.vocabSize = model.config().vocabSize();
        this.logits = arena.allocate((long) MAX_ROWS * vocabSize * Float.BYTES, 64);
    }

    /// A sequence: its tokens, pages, how far it is computed, and the logits of its rows.
    final class Sequence {
        final int[] tokens;
        final int[] pages;
        final float[] state;
        final List<float[]> logits = new ArrayList<>();
        int computed;

        private Sequence(int[] tokens, int[] pages) {
            this.tokens = tokens;
            this.pages = pages;
            this.state = new float[model.config().hiddenSize()];
        }

        /// Bytes of all sections of a block.
        byte[][] sections(int block) {
            byte[][] bytes = new byte[model.layout().sections()][];
            for (int section = 0; section < bytes.length; section++) {
                bytes[section] = pool.section(pages[block], section).toArray(JAVA_BYTE);
            }
            return bytes;
        }

        byte[][][] allSections() {
            byte[][][] bytes = new byte[pages.length][][];
            for (int block = 0; block < pages.length; block++) {
                bytes[block] = sections(block);
            }
            return bytes;
        }

        /// Puts the bytes of a block computed elsewhere.
        void importSections(int block, byte[][] bytes) {
            for (int section = 0; section < bytes.length; section++) {
                pool.section(pages[block], section).copyFrom(MemorySegment.ofArray(bytes[section]));
            }
        }

        /// Starts behind imported blocks, with the boundary state of the last of them.
        void startBehind(int blocks) {
            computed = blocks * 64;
            MemorySegment.copy(pool.boundaryState(pages[blocks - 1]), JAVA_FLOAT, 0, state, 0, state.length);
        }

        void free() {
            for (int page : pages) {
                pool.free(page);
            }
        }
    }

    Sequence open(int[] tokens) {
        int[] pages = new int[PagePool.pagesFor(tokens.length)];
        for (int i = 0; i < pages.length; i++) {
            pages[i] = pool.allocate();
        }
        return new Sequence(tokens, pages);
    }

    /// A sequence whose pages stand in the pool in no order.
    Sequence openShuffled(int[] tokens, long seed) {
        int count = pool.freePages();
        List<Integer> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(pool.allocate());
        }
        java.util.Collections.shuffle(all, new Random(seed));
        int[] pages = new int[PagePool.pagesFor(tokens.length)];
        for (int i = 0; i < pages.length; i++) {
            pages[i] = all.get(i);
        }
        for (int i = pages.length; i < count; i++) {
            pool.free(all.get(i));
        }
        return new Sequence(tokens, pages);
    }

    /// One step: the next `counts[i]` tokens of each sequence.
    void step(List<Sequence> sequences, int... counts) {
        input.clear();
        for (int s = 0; s < sequences.size(); s++) {
            Sequence sequence = sequences.get(s);
            input.addSequence(sequence.pages, sequence.computed, sequence.state);
            for (int i = 0; i < counts[s]; i++) {
                input.addToken(sequence.tokens[sequence.computed + i]);
            }
        }
        int[] rows = new int[input.rows()];
        for (int row = 0; row < rows.length; row++) {
            rows[row] = row;
        }
        try (StepGate.Turn _ = model.gate().enter(StepPriority.DECODE)) {
            transformer.forward(input);
            transformer.logits(rows, rows.length, logits);
        }
        int row = 0;
        for (int s = 0; s < sequences.size(); s++) {
            Sequence sequence = sequences.get(s);
            for (int i = 0; i < counts[s]; i++) {
                sequence.logits.add(rowOfLogits(row++));
            }
            sequence.computed += counts[s];
            transformer.state(row - 1, sequence.state);
        }
    }

    /// The draft logits of the rows of the last step, which must have been one sequence not starting at
    /// slot 0.
    List<float[]> predict(int rows) {
        int[] numbers = new int[rows];
        for (int row = 0; row < rows; row++) {
            numbers[row] = row;
        }
        transformer.predict();
        transformer.predictedLogits(numbers, rows, logits);
        List<float[]> result = new ArrayList<>();
        for (int row = 0; row < rows; row++) {
            result.add(rowOfLogits(row));
        }
        return result;
    }

    private float[] rowOfLogits(int row) {
        float[] values = new float[vocabSize];
        MemorySegment.copy(logits, JAVA_FLOAT, (long) row * vocabSize * Float.BYTES, values, 0, vocabSize);
        return values;
    }

    /// Computes what is left of a sequence in steps of at most `chunk` tokens.
    Sequence finish(Sequence sequence, int chunk) {
        while (sequence.computed < sequence.tokens.length) {
            step(List.of(sequence), Math.min(chunk, sequence.tokens.length - sequence.computed));
        }
        return sequence;
    }

    /// Tokens from a seed.
    int[] tokens(long seed, int count) {
        return new Random(seed).ints(count, 4, vocabSize).toArray();
    }

    @Override
    public void close() {
        transformer.close();
        pool.close();
        arena.close();
    }
}
