package io.millrace.engine.schedule;

import io.millrace.engine.sampling.SamplingParams;
import java.util.OptionalInt;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/// Builds requests for tests.
final class Requests {
    static final SamplingParams WARM = new SamplingParams(0.8f, 20, 0.95f, 0, OptionalInt.of(2));

    private Requests() {}

    static int[] tokens(Random random, int count, int vocab) {
        return random.ints(count, 0, vocab).toArray();
    }

    static SequenceRequest of(int[] prompt, int maxTokens) {
        return of(prompt, new int[0], maxTokens, null);
    }

    static SequenceRequest of(int[] prompt, int maxTokens, long seed) {
        return new SequenceRequest("test", 0, prompt, new int[0], WARM, seed, new int[0], maxTokens, null, true, false);
    }

    static SequenceRequest of(int[] prompt, int[] generated, int maxTokens, @Nullable StopCondition condition) {
        return new SequenceRequest(
                "test", 0, prompt, generated, WARM, 42, new int[0], maxTokens, condition, true, false);
    }

    static SequenceRequest stoppingAt(int[] prompt, int maxTokens, int stopId) {
        return new SequenceRequest(
                "test", 0, prompt, new int[0], WARM, 42, new int[] {stopId}, maxTokens, null, false, false);
    }

    /// As a prefill instance asks: one token, blocks and tail.
    static SequenceRequest prefill(int[] prompt) {
        return prefill(prompt, 42);
    }

    static SequenceRequest prefill(int[] prompt, long seed) {
        return new SequenceRequest("test", 0, prompt, new int[0], WARM, seed, new int[0], 1, null, true, true);
    }
}
