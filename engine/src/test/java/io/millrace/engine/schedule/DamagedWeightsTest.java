package io.millrace.engine.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.millrace.engine.error.ErrorCode;
import io.millrace.engine.error.MillraceException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/// Requests that all fail by broken logits.
class DamagedWeightsTest {
    private static final String DIED = "the engine of this instance has died and cannot go on: the requests of 8"
            + " different prompts failed by broken logits, and none came to a token in between: the weights of a test"
            + " are damaged";

    private final FakeSteps model = new FakeSteps(24);

    private EngineLoop loop() {
        var settings = new LoopSettings(2, 8, 32, 60_000, null);
        var loop = new EngineLoop(model, settings, EngineRole.DECODE, System::nanoTime);
        loop.start();
        return loop;
    }

    private static Recorder run(EngineLoop loop, int prompt) {
        var recorder = new Recorder(0);
        loop.reserve(Requests.of(new int[] {1, 2, prompt}, 4)).start(Handover.nothing(), recorder);
        return recorder;
    }

    private static void assertBroken(Recorder recorder) {
        assertThatThrownBy(recorder::finish)
                .cause()
                .isInstanceOfSatisfying(
                        MillraceException.class, e -> assertThat(e.code()).isEqualTo(ErrorCode.BROKEN_LOGITS));
    }

    @Test
    void endTheEngineIfNoneComesToATokenInBetween() {
        try (EngineLoop loop = loop()) {
            model.breakLogits(true);
            for (int prompt = 0; prompt < 8; prompt++) {
                assertThat(loop.died().toCompletableFuture()).isNotDone();
                assertBroken(run(loop, prompt));
            }
            assertThat(loop.died()
                            .toCompletableFuture()
                            .orTimeout(60, TimeUnit.SECONDS)
                            .join())
                    .isEqualTo(DIED);
            assertThatExceptionOfType(MillraceException.class)
                    .isThrownBy(() -> run(loop, 9))
                    .withMessage(DIED)
                    .matches(e -> e.code() == ErrorCode.ENGINE_FAILED);
        }
    }

    @Test
    void ofOnePromptSayNothingOfTheWeights() {
        try (EngineLoop loop = loop()) {
            model.breakLogits(true);
            for (int i = 0; i < 20; i++) {
                assertBroken(run(loop, i % 2));
            }
            model.breakLogits(false);
            assertThat(run(loop, 5).finish().generatedTokens()).isEqualTo(4);
        }
    }

    @Test
    void areForgottenWithTheFirstTokenOfAnother() {
        try (EngineLoop loop = loop()) {
            for (int round = 0; round < 3; round++) {
                model.breakLogits(true);
                for (int prompt = 0; prompt < 7; prompt++) {
                    assertBroken(run(loop, 10 * round + prompt));
                }
                model.breakLogits(false);
                assertThat(run(loop, 5).finish().generatedTokens()).isEqualTo(4);
            }
        }
    }
}
