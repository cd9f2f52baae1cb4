package io.millrace.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import io.millrace.engine.error.MillraceException;
import io.millrace.engine.sampling.Sampled;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/// Prompts share the steps: a long one does not hold back a short one that came later.
class PromptSharesTest {
    private static final int STEP_TOKENS = 16;

    private final ConcurrentLinkedQueue<String> ended = new ConcurrentLinkedQueue<>();
    private final CountDownLatch shortStarted = new CountDownLatch(1);

    @Test
    void aShortPromptOvertakesALongOne() {
        Random random = new Random(3);
        var settings = new LoopSettings(8, 8, STEP_TOKENS, 10_000, null);
        try (EngineLoop loop = new EngineLoop(new FakeSteps(24), settings, EngineRole.PREFILL, System::nanoTime)) {
            loop.start();
            Reservation longRoom = loop.reserve(Requests.prefill(Requests.tokens(random, 390, FakeSteps.VOCAB)));
            Reservation shortRoom = loop.reserve(Requests.prefill(Requests.tokens(random, 20, FakeSteps.VOCAB)));
            Ending longPrompt = new Ending("long");
            longRoom.start(Handover.nothing(), longPrompt);
            Ending shortPrompt = new Ending("short");
            shortRoom.start(Handover.nothing(), shortPrompt);
            shortStarted.countDown();
            shortPrompt.end.join();
            longPrompt.end.join();
        }
        assertThat(ended).containsExactly("short", "long");
    }

    /// Notes when a sequence ends. The long one stands still after its first block until the short one is there.
    private final class Ending implements SequenceListener {
        private final String name;
        private final CompletableFuture<FinishInfo> end = new CompletableFuture<>();

        Ending(String name) {
            this.name = name;
        }

        @Override
        public void onBlock(int blockIndex, int[] ids, byte[][] sections) {
            if (name.equals("long") && blockIndex == 0) {
                try {
                    shortStarted.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        }

        @Override
        public void onTail(int tokens, byte[][] sections, float[] boundaryState) {}

        @Override
        public void onTokens(int firstPosition, List<Sampled> tokens) {}

        @Override
        public void onFinish(int firstPosition, List<Sampled> lastTokens, FinishInfo info) {
            ended.add(name);
            end.complete(info);
        }

        @Override
        public void onError(MillraceException error) {
            end.completeExceptionally(error);
        }
    }
}
