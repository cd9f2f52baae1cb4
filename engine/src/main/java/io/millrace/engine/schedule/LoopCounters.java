package io.millrace.engine.schedule;

import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/// What a loop counts. Gauges are written by the loop thread, once it runs.
final class LoopCounters {
    final LongAdder steps = new LongAdder();
    final LongAdder rows = new LongAdder();
    final LongAdder promptTokensComputed = new LongAdder();
    final LongAdder tokensRecomputed = new LongAdder();
    final LongAdder generatedTokens = new LongAdder();
    final LongAdder preemptions = new LongAdder();
    final LongAdder refused = new LongAdder();
    final LongAdder finished = new LongAdder();
    final LongAdder cancelled = new LongAdder();
    final LongAdder failed = new LongAdder();
    private volatile Gauges gauges = new Gauges(0, 0, 0, 0);
    private volatile @Nullable StepUnderWay stepUnderWay;

    /// Levels between two steps.
    record Gauges(int running, int waiting, int reserved, int freePages) {}

    /// A step that is being computed, or waits for its turn.
    record StepUnderWay(int rows, long sinceNanos) {}

    void stepBegins(int ofRows, long nowNanos) {
        stepUnderWay = new StepUnderWay(ofRows, nowNanos);
    }

    void stepEnded() {
        stepUnderWay = null;
    }

    /// Null between steps. Any thread.
    @Nullable
    StepUnderWay stepUnderWay() {
        return stepUnderWay;
    }

    Gauges gauges() {
        return gauges;
    }

    void publish(Gauges now) {
        gauges = now;
    }

    EngineStats snapshot(int pages) {
        Gauges now = gauges;
        return new EngineStats(
                now.running,
                now.waiting,
                now.reserved,
                now.freePages,
                pages,
                steps.sum(),
                rows.sum(),
                promptTokensComputed.sum(),
                tokensRecomputed.sum(),
                generatedTokens.sum(),
                preemptions.sum(),
                refused.sum(),
                finished.sum(),
                cancelled.sum(),
                failed.sum());
    }
}
