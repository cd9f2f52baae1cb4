package io.millrace.engine.schedule;

import io.millrace.engine.kv.KvLayout;
import io.millrace.engine.kv.PagePool;
import io.millrace.engine.sampling.Sampler;
import io.millrace.kernels.Kernels;
import io.millrace.kernels.KvFormat;
import io.millrace.kernels.PagedRows;
import io.millrace.kernels.provider.KernelProviders;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.ToLongFunction;

/// A model of one hash: a row's state is a hash of everything its sequence has in the pages, so that a
/// page that is lost, shared or wrongly imported changes all that follows. Layer 1 holds pairs with the
/// state before, as multi-token-prediction rows do.
final class FakeSteps implements StepModel {
    static final int VOCAB = 61;
    static final int CONTEXT = 400;
    private static final int HIDDEN = 4;
    private static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT_UNALIGNED;

    /// Not the scalar ones: after their loops the compiler leaves vectors boxed for the other tests of the JVM.
    private final Kernels kernels = KernelProviders.select("auto", 1).kernels();
    private final PagePool pool;
    private final PagedRows keys;
    private final PagedRows pairs;
    private final List<float[]> states = new ArrayList<>();
    private final List<float[]> logits = new ArrayList<>();
    private final List<Integer> stepSequences = new ArrayList<>();
    private final List<Integer> stepRows = new ArrayList<>();
    private ToLongFunction<StepPlan> cost = plan -> 0;
    private int failingStep = -1;
    private int dyingStep = -1;
    private Error death = new InternalError();
    private int steps;
    private boolean closed;
    private volatile boolean broken;

    private volatile CountDownLatch held = new CountDownLatch(0);
    private final CountDownLatch firstStep = new CountDownLatch(1);

    FakeSteps(int pages) {
        var shape = new KvLayout.Shape(1, 1, 1, HIDDEN, new boolean[] {false, false}, true);
        var layout = new KvLayout(shape, KvFormat.F32);
        this.pool = PagePool.create(layout, pages);
        this.keys = layout.latent(pool.memory(), 0);
        this.pairs = layout.latent(pool.memory(), 1);
    }

    /// Makes one step fail, counted from 0.
    void failStep(int step) {
        failingStep = step;
    }

    /// Whether logits are NaN from the next step on.
    void breakLogits(boolean are) {
        broken = are;
    }

    /// Makes one step end with an error, counted from 0.
    void dieInStep(int step, Error of) {
        dyingStep = step;
        death = of;
    }

    /// Sequences of each step so far; read after the loop is idle.
    List<Integer> stepSequences() {
        return stepSequences;
    }

    /// Rows of each step so far; read after the loop is idle.
    List<Integer> stepRows() {
        return stepRows;
    }

    /// Nanoseconds that steps claim to take.
    void cost(ToLongFunction<StepPlan> nanos) {
        cost = nanos;
    }

    boolean isClosed() {
        return closed;
    }

    @Override
    public int contextTokens() {
        return CONTEXT;
    }

    @Override
    public int vocabSize() {
        return VOCAB;
    }

    @Override
    public int hiddenSize() {
        return HIDDEN;
    }

    @Override
    public String damage() {
        return "weights of a test are damaged";
    }

    @Override
    public PagePool pool() {
        return pool;
    }

    /// The next step stands still until the latch is open.
    void hold(CountDownLatch until) {
        this.held = until;
    }

    /// Waits until the first step has begun.
    void awaitStep() {
        try {
            firstStep.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public long step(StepPlan plan, Sampler sampler) {
        firstStep.countDown();
        try {
            held.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        stepRows.add(plan.rows());
        if (steps == dyingStep) {
            throw death;
        }
        if (steps++ == failingStep) {
            throw new IllegalStateException("told to fail");
        }
        states.clear();
        logits.clear();
        stepSequences.add(plan.count());
        for (int i = 0; i < plan.count(); i++) {
            Sequence sequence = plan.sequence(i);
            float[] before = sequence.state();
            for (int slot = plan.firstToken(i); slot < plan.firstToken(i) + plan.tokens(i); slot++) {
                before = row(sequence, slot, before);
            }
            if (plan.samples(i)) {
                logits.add(broken ? nan() : logitsOf(before));
            }
        }
        MemorySegment matrix = Arena.ofAuto().allocate((long) logits.size() * VOCAB * Float.BYTES, 64);
        for (int i = 0; i < logits.size(); i++) {
            MemorySegment.copy(logits.get(i), 0, matrix, FLOAT, (long) i * VOCAB * Float.BYTES, VOCAB);
        }
        sampler.scan(kernels, matrix);
        return cost.applyAsLong(plan);
    }

    private float[] row(Sequence sequence, int slot, float[] before) {
        int[] pages = sequence.pages();
        MemorySegment memory = pool.memory();
        memory.set(FLOAT, keys.rowOffset(pages, slot), sequence.token(slot) + 1);
        if (slot > 0) {
            memory.set(FLOAT, pairs.rowOffset(pages, slot), before[0] + before[3] + sequence.token(slot));
        }
        long hash = 17;
        for (int s = 0; s <= slot; s++) {
            hash = mix(hash ^ Float.floatToRawIntBits(memory.get(FLOAT, keys.rowOffset(pages, s))));
            hash = mix(hash ^ Float.floatToRawIntBits(memory.get(FLOAT, pairs.rowOffset(pages, s))));
        }
        float[] state = new float[HIDDEN];
        for (int i = 0; i < HIDDEN; i++) {
            state[i] = (mix(hash + i) >>> 44) / 1024f;
        }
        if (slot % KvLayout.PAGE_TOKENS == KvLayout.PAGE_TOKENS - 1) {
            MemorySegment.copy(
                    MemorySegment.ofArray(state), 0, pool.boundaryState(pages[slot / KvLayout.PAGE_TOKENS]), 0, 16);
        }
        states.add(state);
        return state;
    }

    private static float[] logitsOf(float[] state) {
        long hash = mix(Float.floatToRawIntBits(state[0]) * 31L + Float.floatToRawIntBits(state[1]));
        float[] row = new float[VOCAB];
        for (int id = 0; id < VOCAB; id++) {
            row[id] = (mix(hash + id) >>> 50) / 4096f;
        }
        return row;
    }

    private static float[] nan() {
        float[] row = new float[VOCAB];
        Arrays.fill(row, Float.NaN);
        return row;
    }

    private static long mix(long value) {
        long mixed = (value ^ (value >>> 30)) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
        return mixed ^ (mixed >>> 31);
    }

    @Override
    public void copyState(int row, float[] state) {
        System.arraycopy(states.get(row), 0, state, 0, HIDDEN);
    }

    @Override
    public void close() {
        closed = true;
        kernels.close();
        pool.close();
    }
}
