package io.millrace.decode;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import io.millrace.engine.sampling.Sampled;
import io.millrace.engine.schedule.FinishInfo;
import io.millrace.engine.schedule.SequenceListener;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/// Carries tokens from the loop to the thread that streams them. Tokens that a slow caller has not taken
/// yet gather into one chunk, so there are never more than the sequence has; the loop never waits.
final class TokenStream implements SequenceListener {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final PutBack putBack;
    private List<Sampled> pending = new ArrayList<>();
    private int firstPosition;
    private @Nullable FinishInfo end;
    private @Nullable MillraceException error;

    /// @param putBack  takes the blocks
    TokenStream(PutBack putBack) {
        this.putBack = putBack;
    }

    /// Tokens that may be shown.
    ///
    /// @param firstPosition  position of the first
    /// @param tokens         empty only with an end
    /// @param end            how the sequence ended, with its last chunk
    record Chunk(
            int firstPosition,
            List<Sampled> tokens,
            @Nullable FinishInfo end) {}

    /// Waits for the next chunk.
    ///
    /// @throws MillraceException the sequence's failure, or `DEADLINE_EXCEEDED` if nothing came for so
    ///     long
    Chunk take(long timeoutMillis) {
        lock.lock();
        try {
            long nanos = TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
            while (pending.isEmpty() && end == null && error == null && nanos > 0) {
                nanos = changed.awaitNanos(nanos);
            }
            MillraceException failure = error;
            if (failure != null) {
                throw failure;
            }
            if (pending.isEmpty() && end == null) {
                throw new MillraceException(
                        ErrorCode.DEADLINE_EXCEEDED, "the engine told nothing for " + timeoutMillis + " ms");
            }
            Chunk chunk = new Chunk(firstPosition, pending, end);
            pending = new ArrayList<>();
            return chunk;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new MillraceException(ErrorCode.CANCELLED, "interrupted", e);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void onBlock(int blockIndex, int[] tokens, byte[][] sections) {
        putBack.offer(blockIndex, tokens, sections);
    }

    @Override
    public void onTail(int tokens, byte[][] sections, float[] boundaryState) {}

    @Override
    public void onTokens(int first, List<Sampled> tokens) {
        lock.lock();
        try {
            add(first, tokens);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void add(int first, List<Sampled> tokens) {
        if (pending.isEmpty()) {
            firstPosition = first;
        }
        pending.addAll(tokens);
    }

    @Override
    public void onFinish(int first, List<Sampled> lastTokens, FinishInfo info) {
        lock.lock();
        try {
            add(first, lastTokens);
            end = info;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void onError(MillraceException failure) {
        lock.lock();
        try {
            error = failure;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
