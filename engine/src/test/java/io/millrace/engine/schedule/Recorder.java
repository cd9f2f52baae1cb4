package io.millrace.engine.schedule;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.sampling.Sampled;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/// Remembers all that a sequence told, and checks that positions have no gap.
final class Recorder implements SequenceListener {
    private static final int TIMEOUT_SECONDS = 60;

    final SortedMap<Integer, byte[][]> blocks = new TreeMap<>();
    final List<Sampled> tokens = new ArrayList<>();
    final List<Integer> deliveries = new ArrayList<>();
    private final int firstPosition;
    private final CompletableFuture<FinishInfo> end = new CompletableFuture<>();
    private final CountDownLatch firstTokens = new CountDownLatch(1);
    int tailTokens = -1;
    byte[][] tail = {};
    float[] boundaryState = {};

    Recorder(int firstPosition) {
        this.firstPosition = firstPosition;
    }

    @Override
    public void onBlock(int blockIndex, int[] ids, byte[][] sections) {
        if (!blocks.isEmpty() && blocks.lastKey() != blockIndex - 1) {
            throw new AssertionError("block " + blockIndex + " after " + blocks.lastKey());
        }
        blocks.put(blockIndex, sections);
    }

    @Override
    public void onTail(int count, byte[][] sections, float[] state) {
        tailTokens = count;
        tail = sections;
        boundaryState = state;
    }

    @Override
    public void onTokens(int first, List<Sampled> delivered) {
        add(first, delivered);
        firstTokens.countDown();
    }

    @Override
    public void onFinish(int first, List<Sampled> last, FinishInfo info) {
        add(first, last);
        end.complete(info);
        firstTokens.countDown();
    }

    @Override
    public void onError(MillraceException error) {
        end.completeExceptionally(error);
        firstTokens.countDown();
    }

    private void add(int first, List<Sampled> delivered) {
        if (first != firstPosition + tokens.size()) {
            throw new AssertionError("position " + first + " after " + (firstPosition + tokens.size()));
        }
        tokens.addAll(delivered);
        deliveries.add(delivered.size());
    }

    FinishInfo finish() {
        return end.orTimeout(TIMEOUT_SECONDS, TimeUnit.SECONDS).join();
    }

    CompletableFuture<FinishInfo> end() {
        return end;
    }

    void awaitFirstTokens() throws InterruptedException {
        if (!firstTokens.await(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
            throw new AssertionError("no token within " + TIMEOUT_SECONDS + " s");
        }
    }

    List<Integer> ids() {
        return tokens.stream().map(Sampled::id).toList();
    }
}
