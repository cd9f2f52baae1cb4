package io.millrace.engine.schedule;

import io.millrace.engine.kv.PagePool;
import io.millrace.engine.memory.MemoryLimits;
import io.millrace.engine.model.LoadedModel;
import io.millrace.engine.model.StepGate;
import io.millrace.engine.model.StepInput;
import io.millrace.engine.model.StepPriority;
import io.millrace.engine.model.Transformer;
import io.millrace.engine.sampling.Sampler;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/// Steps of the real model: one [Transformer] and one pool, in turn with the other loops of the JVM.
final class TransformerSteps implements StepModel {
    private static final Logger log = LoggerFactory.getLogger(TransformerSteps.class);
    private static final int ALIGNMENT = 64;

    private final Arena arena = Arena.ofShared();
    private final LoadedModel model;
    private final PagePool pool;
    private final Transformer transformer;
    private final StepInput input;
    private final StepPriority priority;
    private final MemorySegment logits;
    private final long rowBytes;
    private final int[] sampledRows;
    private boolean closed;

    private TransformerSteps(LoadedModel model, PagePool pool, LoopSettings settings, StepPriority priority) {
        this.model = model;
        this.pool = pool;
        this.input = new StepInput(settings.rows(), settings.sequences());
        this.transformer = new Transformer(model, pool, input);
        this.priority = priority;
        this.rowBytes = (long) model.config().vocabSize() * Float.BYTES;
        this.logits = arena.allocate(rowBytes * settings.sequences(), ALIGNMENT);
        this.sampledRows = new int[settings.sequences()];
    }

    static TransformerSteps create(LoadedModel model, LoopSettings settings, int pages, EngineRole role) {
        warnOfLittleMemory(model, pages);
        PagePool pool = PagePool.create(model.layout(), pages);
        StepPriority priority = switch (role) {
            case PREFILL -> StepPriority.PREFILL;
            case DECODE -> StepPriority.DECODE;
        };
        return new TransformerSteps(model, pool, settings, priority);
    }

    private static void warnOfLittleMemory(LoadedModel model, int pages) {
        Runtime runtime = Runtime.getRuntime();
        long bytes = model.layout().pageBytes() * pages;
        MemoryLimits.ofThisProcess()
                .filter(limits -> limits.refusal("a KV pool", bytes).isEmpty())
                .flatMap(limits -> limits.warning(
                        "a KV pool",
                        bytes,
                        model.packFile().map(TransformerSteps::size).orElse(0L),
                        runtime.maxMemory() - runtime.totalMemory()))
                .ifPresent(tight -> log.warn("{}; a smaller millrace.kv.pool-tokens takes less", tight));
    }

    private static long size(Path file) {
        try {
            return Files.size(file);
        } catch (IOException e) {
            return 0;
        }
    }

    @Override
    public int contextTokens() {
        return model.config().maxPositionEmbeddings();
    }

    @Override
    public int vocabSize() {
        return model.config().vocabSize();
    }

    @Override
    public int hiddenSize() {
        return model.config().hiddenSize();
    }

    @Override
    public PagePool pool() {
        return pool;
    }

    @Override
    public String damage() {
        return model.packFile()
                .map(file -> "packed weights in " + file + " are damaged, or were overwritten; delete that file and"
                        + " start again, so that they are packed anew (if the file came with the model, restore it)")
                .orElse("weights in memory are damaged; start again, and look at the checkpoint if it happens again");
    }

    @Override
    public long step(StepPlan plan, Sampler sampler) {
        input.clear();
        int sampled = 0;
        for (int i = 0; i < plan.count(); i++) {
            Sequence sequence = plan.sequence(i);
            int first = plan.firstToken(i);
            input.addSequence(sequence.pages(), first, sequence.state());
            for (int token = first; token < first + plan.tokens(i); token++) {
                input.addToken(sequence.token(token));
            }
            if (plan.samples(i)) {
                sampledRows[sampled++] = plan.lastRow(i);
            }
        }
        try (StepGate.Turn _ = model.gate().enter(priority)) {
            long startNanos = System.nanoTime();
            transformer.forward(input);
            transformer.logits(sampledRows, sampled, logits);
            sampler.scan(model.kernels(), logits.asSlice(0, sampled * rowBytes));
            return System.nanoTime() - startNanos;
        }
    }

    @Override
    public void copyState(int row, float[] state) {
        transformer.state(row, state);
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            transformer.close();
            pool.close();
            arena.close();
        }
    }
}
