package io.millrace.prefill;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.sampling.Sampled;
import io.millrace.engine.schedule.FinishInfo;
import io.millrace.engine.schedule.SequenceListener;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.TimeUnit;

/// Carries what the loop tells about a prompt to the thread that answers the call. It has room for all of
/// it, so that the loop never waits.
final class PromptEvents implements SequenceListener {
    private static final int OTHER_EVENTS = 4;

    private final ArrayBlockingQueue<Event> events;
    private final long timeoutMillis;

    /// What the loop told.
    sealed interface Event {}

    @SuppressWarnings("ArrayRecordComponent") // handed over, never compared
    record Block(int index, byte[][] sections) implements Event {}

    @SuppressWarnings("ArrayRecordComponent") // handed over, never compared
    record Tail(int tokens, byte[][] sections, float[] boundaryState) implements Event {}

    record Finished(Sampled token, FinishInfo info) implements Event {}

    record Failed(MillraceException error) implements Event {}

    /// @param blocks         blocks of the prompt
    /// @param timeoutMillis  longest wait between two events
    PromptEvents(int blocks, long timeoutMillis) {
        this.events = new ArrayBlockingQueue<>(blocks + OTHER_EVENTS);
        this.timeoutMillis = timeoutMillis;
    }

    Event take() {
        try {
            Event next = events.poll(timeoutMillis, TimeUnit.MILLISECONDS);
            return next == null ? new Failed(silent()) : next;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new Failed(new MillraceException(ErrorCode.CANCELLED, "interrupted", e));
        }
    }

    private MillraceException silent() {
        return new MillraceException(
                ErrorCode.DEADLINE_EXCEEDED, "the engine told nothing for " + timeoutMillis + " ms");
    }

    private void add(Event event) {
        if (!events.offer(event)) {
            throw new IllegalStateException("more events than a prompt has blocks");
        }
    }

    @Override
    public void onBlock(int blockIndex, int[] tokens, byte[][] sections) {
        add(new Block(blockIndex, sections));
    }

    @Override
    public void onTail(int tokens, byte[][] sections, float[] boundaryState) {
        add(new Tail(tokens, sections, boundaryState));
    }

    /// The one token comes with the finish.
    @Override
    public void onTokens(int firstPosition, List<Sampled> tokens) {}

    @Override
    public void onFinish(int firstPosition, List<Sampled> lastTokens, FinishInfo info) {
        add(new Finished(lastTokens.getFirst(), info));
    }

    @Override
    public void onError(MillraceException error) {
        add(new Failed(error));
    }
}
